//! Cuts a module in two: what a page needs to train at once, and what it may need later.
//!
//! Both parts share memory, table and globals, so the cut changes nothing but when code arrives. A function that moved
//! leaves a stand-in of a few bytes behind: it asks JavaScript for the second part (import `later.load`, which must have
//! instantiated it when it returns) and calls the function through its place in the table. Where the second part is
//! there, its functions stand in the table themselves.
//!
//! Which large functions move is said by name; what only they call moves along.

use std::collections::{BTreeMap, HashMap};

use walrus::ir::{self, Visitor, dfs_in_order};
use walrus::{
    ConstExpr, ElementItems, ElementKind, ExportItem, FunctionBuilder, FunctionId, FunctionKind, GlobalId,
    GlobalKind, ImportedFunction, Module, ModuleConfig, TableId, ValType,
};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The namespace in which the second part finds what the first exports.
const FIRST: &str = "first";

/// Instructions from which on a function's name is believed. Of small functions that compile alike the compiler keeps one,
/// under the name of any: they move only with all their callers.
const OWN_SIZE: u64 = 45;

/// Small methods whose names are believed all the same: there are thousands of them.
const OWN_METHODS: &str = "<flambeau::";

/// The two modules, ready to be written.
pub struct Parts {
    pub first: Vec<u8>,
    pub later: Vec<u8>,
}

/// Splits a module that still has its names; `moves` is asked for the readable name of each function.
pub fn split(wasm: &[u8], moves: impl Fn(&str) -> bool) -> Result<Parts> {
    let mut module = parse(wasm)?;
    let cut = Cut::new(&module, moves)?;
    cut.keep_first(&mut module)?;
    let mut later = parse(wasm)?;
    cut.keep_later(&mut later)?;
    Ok(Parts { first: module.emit_wasm(), later: later.emit_wasm() })
}

/// The readable names of a module's functions.
pub fn names(wasm: &[u8]) -> Result<Vec<String>> {
    Ok(parse(wasm)?.funcs.iter().map(readable_name).collect())
}

fn readable_name(function: &walrus::Function) -> String {
    format!("{:#}", rustc_demangle::demangle(function.name.as_deref().unwrap_or_default()))
}

fn parse(wasm: &[u8]) -> Result<Module> {
    Ok(ModuleConfig::new()
        .generate_name_section(false)
        .generate_producers_section(false)
        .generate_dwarf(false)
        .parse(wasm)?)
}

/// Where the module is cut. Functions and globals go by their position, which is the same each time it is parsed.
struct Cut {
    /// Places in the function table of those that the first part can call.
    slots: BTreeMap<u64, usize>,
    /// Functions of the first part that the second calls, and under which name.
    shared: BTreeMap<usize, String>,
    /// Globals that the second part uses, and under which name.
    globals: BTreeMap<usize, String>,
    /// Places in the table, with those added.
    table_size: u64,
}

/// What one function mentions.
#[derive(Default)]
struct Mentions {
    functions: Vec<FunctionId>,
    references: Vec<FunctionId>,
    globals: Vec<GlobalId>,
}

impl<'instr> Visitor<'instr> for Mentions {
    fn visit_function_id(&mut self, function: &FunctionId) {
        self.functions.push(*function);
    }
    fn visit_ref_func(&mut self, instr: &ir::RefFunc) {
        self.references.push(instr.func);
    }
    fn visit_global_id(&mut self, global: &GlobalId) {
        self.globals.push(*global);
    }
}

impl Cut {
    fn new(module: &Module, moves: impl Fn(&str) -> bool) -> Result<Self> {
        let functions: Vec<&walrus::Function> = module.funcs.iter().collect();
        let position: HashMap<FunctionId, usize> =
            functions.iter().enumerate().map(|(at, function)| (function.id(), at)).collect();
        let global_position: HashMap<GlobalId, usize> =
            module.globals.iter().enumerate().map(|(at, global)| (global.id(), at)).collect();
        let mentions: Vec<Mentions> = functions.iter().map(|function| mentions(function)).collect();

        // A function whose reference is taken stays; so does what runs first.
        let mut stays = vec![false; functions.len()];
        for function in mentions.iter().flat_map(|of| &of.references).chain(&module.start) {
            stays[position[function]] = true;
        }
        let table = function_table(module)?;
        let mut in_table: BTreeMap<u64, usize> = BTreeMap::new();
        for (slot, function) in table_entries(module, table)? {
            in_table.insert(slot, position[&function]);
        }
        let mut reachable = stays.clone();
        for at in in_table.values() {
            reachable[*at] = true;
        }
        for export in module.exports.iter() {
            if let ExportItem::Function(function) = export.item {
                reachable[position[&function]] = true;
            }
        }

        let mut moved: Vec<bool> = functions
            .iter()
            .enumerate()
            .map(|(at, function)| {
                let name = readable_name(function);
                let FunctionKind::Local(local) = &function.kind else { return false };
                let is_own = local.size() >= OWN_SIZE || name.starts_with(OWN_METHODS);
                is_own && !stays[at] && moves(&name)
            })
            .collect();
        let calls: Vec<Vec<usize>> = mentions
            .iter()
            .map(|of| of.functions.iter().map(|function| position[function]).collect())
            .collect();
        move_along(&mut moved, &calls, |at| {
            !reachable[at] && matches!(functions[at].kind, FunctionKind::Local(_))
        });

        let mut needs_slot = vec![false; functions.len()];
        for export in module.exports.iter() {
            if let ExportItem::Function(function) = export.item {
                needs_slot[position[&function]] = true;
            }
        }
        let mut shared = BTreeMap::new();
        let mut globals = BTreeMap::new();
        for (at, called) in calls.iter().enumerate() {
            for &callee in called {
                if moved[at] && !moved[callee] {
                    let name = format!("f{}", shared.len());
                    shared.entry(callee).or_insert(name);
                }
                needs_slot[callee] |= !moved[at];
            }
            if moved[at] {
                for global in &mentions[at].globals {
                    let name = format!("g{}", globals.len());
                    globals.entry(global_position[global]).or_insert(name);
                }
            }
        }

        let mut table_size = module.tables.get(table).initial;
        let mut slots: BTreeMap<u64, usize> = in_table.into_iter().filter(|(_, at)| moved[*at]).collect();
        for at in slots.values() {
            needs_slot[*at] = false;
        }
        for at in (0..functions.len()).filter(|at| moved[*at] && needs_slot[*at]) {
            slots.insert(table_size, at);
            table_size += 1;
        }
        Ok(Self { slots, shared, globals, table_size })
    }

    /// Makes the first part of the module.
    fn keep_first(&self, module: &mut Module) -> Result<()> {
        let functions: Vec<FunctionId> = module.funcs.iter().map(|function| function.id()).collect();
        let globals: Vec<GlobalId> = module.globals.iter().map(|global| global.id()).collect();
        let table = function_table(module)?;
        self.grow(module, table);
        let need = need_later(module);
        for (slot, at) in &self.slots {
            let stand_in = stand_in(module, functions[*at], need, table, *slot)?;
            module.funcs.get_mut(functions[*at]).kind = FunctionKind::Local(stand_in);
        }
        for (at, name) in &self.shared {
            module.exports.add(name, functions[*at]);
        }
        for (at, name) in &self.globals {
            module.exports.add(name, globals[*at]);
        }
        let memory = module.get_memory_id()?;
        module.exports.add("m", memory);
        for (at, table) in tables(module).into_iter().enumerate() {
            module.exports.add(&format!("t{at}"), table);
        }
        walrus::passes::gc::run(module);
        Ok(())
    }

    /// Makes the second part of the module.
    fn keep_later(&self, module: &mut Module) -> Result<()> {
        let functions: Vec<FunctionId> = module.funcs.iter().map(|function| function.id()).collect();
        let globals: Vec<GlobalId> = module.globals.iter().map(|global| global.id()).collect();
        let table = function_table(module)?;
        let memory = module.get_memory_id()?;
        module.start = None;
        for id in module.exports.iter().map(|export| export.id()).collect::<Vec<_>>() {
            module.exports.delete(id);
        }
        for id in module.elements.iter().map(|element| element.id()).collect::<Vec<_>>() {
            module.elements.delete(id);
        }
        for id in module.data.iter().map(|data| data.id()).collect::<Vec<_>>() {
            module.data.delete(id);
        }
        for table in module.tables.iter_mut() {
            table.elem_segments.clear();
        }

        for (at, name) in &self.shared {
            let function = functions[*at];
            let ty = module.funcs.get(function).ty();
            let import = module.imports.add(FIRST, name, function);
            if let FunctionKind::Import(old) = &module.funcs.get(function).kind {
                module.imports.delete(old.import);
            }
            module.funcs.get_mut(function).kind = FunctionKind::Import(ImportedFunction { import, ty });
        }
        for (at, name) in &self.globals {
            let import = module.imports.add(FIRST, name, globals[*at]);
            module.globals.get_mut(globals[*at]).kind = GlobalKind::Import(import);
        }
        let import = module.imports.add(FIRST, "m", memory);
        let shared_memory = module.memories.get_mut(memory);
        shared_memory.import = Some(import);
        shared_memory.data_segments.clear();
        self.grow(module, table);
        for (at, table) in tables(module).into_iter().enumerate() {
            let import = module.imports.add(FIRST, &format!("t{at}"), table);
            module.tables.get_mut(table).import = Some(import);
        }

        for (start, run) in runs(&self.slots) {
            let items = run.into_iter().map(|at| functions[at]).collect();
            let offset = ConstExpr::Value(ir::Value::I32(i32::try_from(start)?));
            let segment =
                module.elements.add(ElementKind::Active { table, offset }, ElementItems::Functions(items));
            module.tables.get_mut(table).elem_segments.insert(segment);
        }
        walrus::passes::gc::run(module);
        Ok(())
    }

    fn grow(&self, module: &mut Module, table: TableId) {
        let table = module.tables.get_mut(table);
        table.initial = self.table_size;
        table.maximum = table.maximum.map(|most| most.max(self.table_size));
    }
}

fn mentions(function: &walrus::Function) -> Mentions {
    let mut found = Mentions::default();
    if let FunctionKind::Local(local) = &function.kind {
        dfs_in_order(&mut found, local, local.entry_block());
    }
    found
}

/// Adds what is called by moved functions alone, and may move.
fn move_along(moved: &mut [bool], calls: &[Vec<usize>], may_move: impl Fn(usize) -> bool) {
    let mut callers_that_stay = vec![0_usize; moved.len()];
    let mut is_called = vec![false; moved.len()];
    for (at, called) in calls.iter().enumerate() {
        for &callee in called {
            is_called[callee] = true;
            callers_that_stay[callee] += usize::from(!moved[at] && callee != at);
        }
    }
    let mut ready: Vec<usize> = (0..moved.len())
        .filter(|at| !moved[*at] && is_called[*at] && callers_that_stay[*at] == 0 && may_move(*at))
        .collect();
    while let Some(at) = ready.pop() {
        moved[at] = true;
        for &callee in calls[at].iter().filter(|callee| **callee != at) {
            callers_that_stay[callee] -= 1;
            if callers_that_stay[callee] == 0 && !moved[callee] && may_move(callee) {
                ready.push(callee);
            }
        }
    }
}

/// That of functions, and that of the values that JavaScript hands over.
fn tables(module: &Module) -> Vec<TableId> {
    module.tables.iter().map(|table| table.id()).collect()
}

/// The table through which functions are called.
fn function_table(module: &Module) -> Result<TableId> {
    module.tables.main_function_table()?.ok_or_else(|| "the module has no function table".into())
}

/// What stands where in the table.
fn table_entries(module: &Module, table: TableId) -> Result<Vec<(u64, FunctionId)>> {
    let mut entries = Vec::new();
    for element in module.elements.iter() {
        let ElementKind::Active { table: of, offset } = &element.kind else { continue };
        if *of != table {
            continue;
        }
        let (ConstExpr::Value(ir::Value::I32(start)), ElementItems::Functions(functions)) =
            (offset, &element.items)
        else {
            return Err("a table segment is not a plain list of functions".into());
        };
        let start = u64::try_from(*start)?;
        entries.extend(functions.iter().enumerate().map(|(at, function)| (start + at as u64, *function)));
    }
    Ok(entries)
}

/// Adds the function that gets the second part unless it is there.
fn need_later(module: &mut Module) -> FunctionId {
    let ty = module.types.add(&[], &[]);
    let (load, _) = module.add_import_func("later", "load", ty);
    let zero = ConstExpr::Value(ir::Value::I32(0));
    let is_there = module.globals.add_local(ValType::I32, true, false, zero);
    let mut need = FunctionBuilder::new(&mut module.types, &[], &[]);
    need.func_body().global_get(is_there).if_else(
        None,
        |_| {},
        |missing| {
            missing.call(load).i32_const(1).global_set(is_there);
        },
    );
    need.finish(Vec::new(), &mut module.funcs)
}

/// A function of the same type that calls what the second part has put into a slot.
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
fn runs(slots: &BTreeMap<u64, usize>) -> Vec<(u64, Vec<usize>)> {
    let mut runs: Vec<(u64, Vec<usize>)> = Vec::new();
    for (slot, at) in slots {
        match runs.last_mut() {
            Some((start, run)) if *start + run.len() as u64 == *slot => run.push(*at),
            _ => runs.push((*slot, vec![*at])),
        }
    }
    runs
}
