//! Cuts a module into parts: what a page needs to train at once, and what it may need later.
//!
//! The parts share memory, tables and globals, so the cut (`cut.rs`) changes nothing but when code and data arrive. A function
//! that lies in no part above has a stand-in of a few bytes: it asks JavaScript for the function's part (import
//! `parts.load`, which must have instantiated it and all above it when it returns) and calls the function through its place in
//! the table. Where the part is there, its functions stand in the table themselves.

use std::collections::BTreeMap;

use walrus::{
    ConstExpr, DataKind, ElementItems, ElementKind, FunctionBuilder, FunctionId, FunctionKind, GlobalId,
    GlobalKind, ImportedFunction, Module, ModuleConfig, TableId, ValType, ir,
};

use crate::cut::{Cut, Part, function_table, has, readable_name};
use crate::links::Links;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Splits a module that still has its names into `parts` parts, ready to be written; `ruled` is asked where the function of a
/// readable name belongs.
pub fn split(
    wasm: &[u8],
    links: &Links,
    parts: usize,
    ruled: impl Fn(&str) -> Option<Part>,
) -> Result<Vec<Vec<u8>>> {
    let cut = Cut::new(&parse(wasm)?, links, parts, ruled)?;
    let shared = Shared::new(&cut, parts);
    (0..parts)
        .map(|part| {
            let mut module = parse(wasm)?;
            Maker { cut: &cut, shared: &shared, part }.keep(&mut module)?;
            Ok(module.emit_wasm())
        })
        .collect()
}

/// The readable names of a module's functions.
pub fn names(wasm: &[u8]) -> Result<Vec<String>> {
    Ok(parse(wasm)?.funcs.iter().map(readable_name).collect())
}

fn parse(wasm: &[u8]) -> Result<Module> {
    let mut module = ModuleConfig::new()
        .generate_name_section(false)
        .generate_producers_section(false)
        .generate_dwarf(false)
        .parse(wasm)?;
    // What the linker noted, of debug sections too, which no longer holds.
    let is_noted = |name: &str| name == "linking" || name.starts_with("reloc.");
    let noted = module.customs.iter().filter(|(_, section)| is_noted(section.name()));
    for id in noted.map(|(id, _)| id).collect::<Vec<_>>() {
        module.customs.delete(id);
    }
    Ok(module)
}

/// The namespace in which a part finds what another exports.
fn namespace(part: Part) -> String {
    format!("p{part}")
}

/// What parts take from those above them, by the part that has it: the name of each export.
struct Shared {
    functions: Vec<BTreeMap<usize, String>>,
    globals: BTreeMap<usize, String>,
    /// The parts that stand-ins outside of the first part ask for.
    asked: BTreeMap<Part, String>,
}

impl Shared {
    fn new(cut: &Cut, parts: usize) -> Self {
        let mut shared = Shared {
            functions: vec![BTreeMap::new(); parts],
            globals: BTreeMap::new(),
            asked: BTreeMap::new(),
        };
        for (part, (functions, globals)) in cut.used.iter().enumerate() {
            for &function in functions {
                let from = source(cut, part, function);
                if from != part {
                    let name = format!("f{}", shared.functions[from].len());
                    shared.functions[from].entry(function).or_insert(name);
                }
            }
            for &global in globals.iter().filter(|_| part != 0) {
                let name = format!("g{}", shared.globals.len());
                shared.globals.entry(global).or_insert(name);
            }
        }
        for (function, (part, _)) in &cut.stand_ins {
            if *part != 0 {
                let wanted = cut.owner[*function];
                shared.asked.insert(wanted, format!("n{wanted}"));
            }
        }
        shared
    }
}

/// The part from which another has a function or its stand-in.
fn source(cut: &Cut, part: Part, function: usize) -> Part {
    let owner = cut.owner[function];
    if has(owner, part) { owner } else { cut.stand_ins[&function].0 }
}

/// Makes one part of the whole module.
struct Maker<'a> {
    cut: &'a Cut,
    shared: &'a Shared,
    part: Part,
}

impl Maker<'_> {
    fn keep(&self, module: &mut Module) -> Result<()> {
        let functions: Vec<FunctionId> = module.funcs.iter().map(|function| function.id()).collect();
        let globals: Vec<GlobalId> = module.globals.iter().map(|global| global.id()).collect();
        let table = function_table(module)?;
        if self.part != 0 {
            self.clear(module);
        }
        self.put_data(module)?;
        self.put_stand_ins(module, &functions, table)?;
        match self.part {
            0 => self.export_all(module, &globals)?,
            _ => self.import_all(module, &functions, &globals)?,
        }
        for (at, name) in &self.shared.functions[self.part] {
            module.exports.add(name, functions[*at]);
        }
        self.put_table(module, &functions, table)?;
        walrus::passes::gc::run(module);
        Ok(())
    }

    /// Takes out what only the first part has.
    fn clear(&self, module: &mut Module) {
        module.start = None;
        for id in module.exports.iter().map(|export| export.id()).collect::<Vec<_>>() {
            module.exports.delete(id);
        }
    }

    /// The memory that this part fills.
    fn put_data(&self, module: &mut Module) -> Result<()> {
        let memory = module.get_memory_id()?;
        for id in module.data.iter().map(|data| data.id()).collect::<Vec<_>>() {
            module.data.delete(id);
        }
        module.memories.get_mut(memory).data_segments.clear();
        for (at, bytes) in &self.cut.data[self.part] {
            let offset = ConstExpr::Value(ir::Value::I32(*at as i32));
            let id = module.data.add(DataKind::Active { memory, offset }, bytes.clone());
            module.memories.get_mut(memory).data_segments.insert(id);
        }
        Ok(())
    }

    /// Puts stand-ins in place of functions of other parts, and in the first the functions that ask for parts.
    fn put_stand_ins(&self, module: &mut Module, functions: &[FunctionId], table: TableId) -> Result<()> {
        let own = self.cut.stand_ins.iter().filter(|(_, (part, _))| *part == self.part);
        let own: Vec<(usize, u64)> = own.map(|(at, (_, slot))| (*at, *slot)).collect();
        let mut wanted: Vec<Part> = own.iter().map(|(at, _)| self.cut.owner[*at]).collect();
        if self.part == 0 {
            wanted.extend(self.shared.asked.keys());
        }
        wanted.sort_unstable();
        wanted.dedup();
        let mut ask: BTreeMap<Part, FunctionId> = BTreeMap::new();
        if self.part == 0 && !wanted.is_empty() {
            let ty = module.types.add(&[ValType::I32], &[]);
            let (load, _) = module.add_import_func("parts", "load", ty);
            for part in wanted {
                ask.insert(part, need(module, load, part)?);
            }
            for (part, name) in &self.shared.asked {
                module.exports.add(name, ask[part]);
            }
        } else {
            let ty = module.types.add(&[], &[]);
            for part in wanted {
                let (need, _) = module.add_import_func(&namespace(0), &self.shared.asked[&part], ty);
                ask.insert(part, need);
            }
        }
        for (at, slot) in own {
            let need = ask[&self.cut.owner[at]];
            let stand_in = stand_in(module, functions[at], need, table, slot)?;
            replace(module, functions[at], FunctionKind::Local(stand_in));
        }
        Ok(())
    }

    /// Lets other parts have memory, tables and globals.
    fn export_all(&self, module: &mut Module, globals: &[GlobalId]) -> Result<()> {
        for (at, name) in &self.shared.globals {
            module.exports.add(name, globals[*at]);
        }
        let memory = module.get_memory_id()?;
        module.exports.add("m", memory);
        for (at, table) in tables(module).into_iter().enumerate() {
            module.exports.add(&format!("t{at}"), table);
        }
        Ok(())
    }

    /// Takes those, and functions, from the parts above.
    fn import_all(&self, module: &mut Module, functions: &[FunctionId], globals: &[GlobalId]) -> Result<()> {
        let (used, used_globals) = &self.cut.used[self.part];
        for at in used {
            let from = source(self.cut, self.part, *at);
            if from == self.part {
                continue;
            }
            let function = functions[*at];
            let ty = module.funcs.get(function).ty();
            let import = module.imports.add(&namespace(from), &self.shared.functions[from][at], function);
            replace(module, function, FunctionKind::Import(ImportedFunction { import, ty }));
        }
        for at in used_globals {
            let import = module.imports.add(&namespace(0), &self.shared.globals[at], globals[*at]);
            module.globals.get_mut(globals[*at]).kind = GlobalKind::Import(import);
        }
        let memory = module.get_memory_id()?;
        let import = module.imports.add(&namespace(0), "m", memory);
        module.memories.get_mut(memory).import = Some(import);
        for (at, table) in tables(module).into_iter().enumerate() {
            let import = module.imports.add(&namespace(0), &format!("t{at}"), table);
            module.tables.get_mut(table).import = Some(import);
        }
        Ok(())
    }

    /// Fills the table with the part's functions and stand-ins.
    fn put_table(&self, module: &mut Module, functions: &[FunctionId], table: TableId) -> Result<()> {
        let is_active =
            |kind: &ElementKind| matches!(kind, ElementKind::Active { table: of, .. } if *of == table);
        let gone = module.elements.iter().filter(|element| self.part != 0 || is_active(&element.kind));
        for id in gone.map(|element| element.id()).collect::<Vec<_>>() {
            module.elements.delete(id);
        }
        let entry = module.tables.get_mut(table);
        entry.elem_segments.clear();
        entry.initial = self.cut.table_size;
        entry.maximum = entry.maximum.map(|most| most.max(self.cut.table_size));
        let is_here = |slot: u64, at: usize| {
            let stands_in = self.cut.stand_ins.get(&at).is_some_and(|(part, _)| *part == self.part);
            // A stand-in does not stand where it looks itself.
            self.cut.owner[at] == self.part || stands_in && slot < self.cut.taken
        };
        let own = self.cut.slots.iter().filter(|(slot, at)| is_here(**slot, **at));
        for (start, run) in runs(own) {
            let items = run.into_iter().map(|at| functions[at]).collect();
            let offset = ConstExpr::Value(ir::Value::I32(i32::try_from(start)?));
            let segment =
                module.elements.add(ElementKind::Active { table, offset }, ElementItems::Functions(items));
            module.tables.get_mut(table).elem_segments.insert(segment);
        }
        Ok(())
    }
}

/// Gives a function another body, or makes it another's.
fn replace(module: &mut Module, function: FunctionId, kind: FunctionKind) {
    if let FunctionKind::Import(old) = &module.funcs.get(function).kind {
        module.imports.delete(old.import);
    }
    module.funcs.get_mut(function).kind = kind;
}

/// That of functions, and that of the values that JavaScript hands over.
fn tables(module: &Module) -> Vec<TableId> {
    module.tables.iter().map(|table| table.id()).collect()
}

/// Adds the function that gets a part unless it is there.
fn need(module: &mut Module, load: FunctionId, part: Part) -> Result<FunctionId> {
    let zero = ConstExpr::Value(ir::Value::I32(0));
    let is_there = module.globals.add_local(ValType::I32, true, false, zero);
    let part = i32::try_from(part)?;
    let mut need = FunctionBuilder::new(&mut module.types, &[], &[]);
    need.func_body().global_get(is_there).if_else(
        None,
        |_| {},
        |missing| {
            missing.i32_const(part).call(load).i32_const(1).global_set(is_there);
        },
    );
    Ok(need.finish(Vec::new(), &mut module.funcs))
}

/// A function of the same type that calls what the function's part has put into a slot.
fn stand_in(
    module: &mut Module,
    function: FunctionId,
    need: FunctionId,
    table: TableId,
    slot: u64,
) -> Result<walrus::LocalFunction> {
    let ty = module.funcs.get(function).ty();
    let (params, results) = module.types.params_results(ty);
    let (params, results) = (params.to_vec(), results.to_vec());
    let args: Vec<_> = params.iter().map(|param| module.locals.add(*param)).collect();
    let mut builder = FunctionBuilder::new(&mut module.types, &params, &results);
    let mut body = builder.func_body();
    body.call(need);
    for arg in &args {
        body.local_get(*arg);
    }
    body.i32_const(i32::try_from(slot)?).call_indirect(ty, table);
    Ok(builder.local_func(args))
}

/// Neighbouring slots together.
fn runs<'a>(slots: impl Iterator<Item = (&'a u64, &'a usize)>) -> Vec<(u64, Vec<usize>)> {
    let mut runs: Vec<(u64, Vec<usize>)> = Vec::new();
    for (slot, at) in slots {
        match runs.last_mut() {
            Some((start, run)) if *start + run.len() as u64 == *slot => run.push(*at),
            _ => runs.push((*slot, vec![*at])),
        }
    }
    runs
}
