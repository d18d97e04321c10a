//! Where a module is cut: which part has which function and which piece of data.
//!
//! Parts form a tree. The first is there from the start; another may use what the parts above it have, and is loaded after
//! them. Rules say by name where some functions go. Everything else follows: what only one part mentions is in that part, what
//! several mention is in the nearest one above them all, and so are texts, tables and variables.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use walrus::ir::{self, Visitor, dfs_in_order};
use walrus::{
    ConstExpr, DataKind, ElementItems, ElementKind, ExportItem, FunctionId, FunctionKind, GlobalId, Module,
    TableId,
};

use crate::links::{Addresses, Links};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Instructions from which on a function's name is believed. Of small functions that compile alike the compiler keeps one,
/// under the name of any: they go where those go that call them.
const OWN_SIZE: u64 = 45;

/// How the names of small functions begin that are believed all the same: methods, of which there are thousands, and those through
/// which a part's functions are found.
const OWN_NAMES: [&str; 2] = ["<flambeau::", "flambeau_web::arrays::"];

/// How the names begin that the compiler has given.
const COMPILED: &str = "_R";

/// Bytes that belong elsewhere from which on data are loaded as two pieces.
const GAP: u32 = 16;

/// Bytes, and where in memory they go.
type Piece = (u32, Vec<u8>);

/// A part, by its number. 0 is the first; 1 lies below it, and all others below 1.
pub type Part = usize;

fn above(part: Part) -> Part {
    usize::from(part > 1)
}

/// Is a part the other one, or above it?
pub fn has(part: Part, other: Part) -> bool {
    part == other || other != 0 && has(part, above(other))
}

/// The nearest part that is above both.
fn meet(one: Part, other: Part) -> Part {
    if has(one, other) { one } else { meet(above(one), other) }
}

/// The cut. Functions and globals go by their position, which is the same each time the module is parsed.
pub struct Cut {
    /// The part that has each function.
    pub owner: Vec<Part>,
    /// Functions that have a stand-in: the part that has it, and the place in the table where it looks for the function.
    pub stand_ins: BTreeMap<usize, (Part, u64)>,
    /// Places in the table, those added for stand-ins included, and what stands there.
    pub slots: BTreeMap<u64, usize>,
    /// Places in the table without those added, and with them.
    pub taken: u64,
    pub table_size: u64,
    /// The functions and the globals that each part mentions.
    pub used: Vec<(BTreeSet<usize>, BTreeSet<usize>)>,
    /// What each part loads into memory, and where.
    pub data: Vec<Vec<Piece>>,
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

fn mentions(function: &walrus::Function) -> Mentions {
    let mut found = Mentions::default();
    if let FunctionKind::Local(local) = &function.kind {
        dfs_in_order(&mut found, local, local.entry_block());
    }
    found
}

/// A function's name as people read it.
pub fn readable_name(function: &walrus::Function) -> String {
    format!("{:#}", rustc_demangle::demangle(function.name.as_deref().unwrap_or_default()))
}

impl Cut {
    /// Decides for a module of `parts` parts; `ruled` is asked with the readable name of each function where the rules put it.
    pub fn new(
        module: &Module,
        links: &Links,
        parts: usize,
        ruled: impl Fn(&str) -> Option<Part>,
    ) -> Result<Self> {
        let functions: Vec<&walrus::Function> = module.funcs.iter().collect();
        let position: HashMap<FunctionId, usize> =
            functions.iter().enumerate().map(|(at, function)| (function.id(), at)).collect();
        let found: Vec<Mentions> = functions.iter().map(|function| mentions(function)).collect();
        let calls: Vec<Vec<usize>> =
            found.iter().map(|of| of.functions.iter().map(|function| position[function]).collect()).collect();
        let exported: Vec<usize> = module
            .exports
            .iter()
            .filter_map(|export| match export.item {
                ExportItem::Function(function) => Some(position[&function]),
                _ => None,
            })
            .collect();
        let table = function_table(module)?;
        let mut slots: BTreeMap<u64, usize> = BTreeMap::new();
        for (slot, function) in table_entries(module, table)? {
            slots.insert(slot, position[&function]);
        }
        let addresses = By::new(&functions, links)?;

        // Functions come first among the nodes, then the pieces of data.
        let count = functions.len();
        let mut fixed: Vec<Option<Part>> = functions
            .iter()
            .map(|function| match &function.kind {
                FunctionKind::Local(local) => {
                    let name = readable_name(function);
                    let is_own =
                        local.size() >= OWN_SIZE || OWN_NAMES.iter().any(|own| name.starts_with(own));
                    ruled(&name).filter(|_| is_own)
                }
                _ => Some(0),
            })
            .collect();
        // A function whose reference is taken stays; so does what runs first.
        for function in found.iter().flat_map(|of| &of.references).chain(&module.start) {
            fixed[position[function]] = Some(0);
        }
        let mentioned_by = |node: usize| -> Vec<usize> {
            let called = calls.get(node).into_iter().flatten().copied();
            called.chain(addresses.of(node, count)).collect()
        };
        let place = placed(fixed, count + links.data.len(), &exported, mentioned_by);

        // Who mentions which function from where.
        let mut used: Vec<(BTreeSet<usize>, BTreeSet<usize>)> = vec![Default::default(); parts];
        let mut from: Vec<BTreeSet<Part>> = vec![BTreeSet::new(); count];
        let global_position: HashMap<GlobalId, usize> =
            module.globals.iter().enumerate().map(|(at, global)| (global.id(), at)).collect();
        for at in 0..count {
            let part = place[at];
            for &callee in &calls[at] {
                used[part].0.insert(callee);
                from[callee].insert(part);
            }
            used[part].1.extend(found[at].globals.iter().map(|global| global_position[global]));
        }
        for &function in &exported {
            used[0].0.insert(function);
            from[function].insert(0);
        }
        let mut unexplained: BTreeSet<usize> = slots.values().copied().collect();
        for (node, part) in place.iter().enumerate() {
            for function in addresses.of(node, count).filter(|mentioned| *mentioned < count) {
                from[function].insert(*part);
                unexplained.remove(&function);
            }
        }
        // What stands in the table although nobody takes its address is called from outside.
        for function in unexplained {
            from[function].insert(0);
        }

        let taken = module.tables.get(table).initial;
        let mut table_size = taken;
        let mut stand_ins = BTreeMap::new();
        let slot_of: HashMap<usize, u64> = slots.iter().map(|(slot, at)| (*at, *slot)).collect();
        for at in 0..count {
            let outside = from[at].iter().copied().filter(|part| !has(place[at], *part));
            let Some(part) = outside.reduce(meet) else { continue };
            let slot = slot_of.get(&at).copied().unwrap_or_else(|| {
                slots.insert(table_size, at);
                table_size += 1;
                table_size - 1
            });
            stand_ins.insert(at, (part, slot));
        }
        let data = pieces(module, links, &place[count..], parts)?;
        let owner = place[..count].to_vec();
        Ok(Self { owner, stand_ins, slots, taken, table_size, used, data })
    }
}

/// Addresses that are taken, by nodes.
struct By<'a> {
    links: &'a Links,
    functions: Vec<Option<&'a Addresses>>,
    named: HashMap<&'a str, Vec<usize>>,
}

impl<'a> By<'a> {
    fn new(functions: &[&'a walrus::Function], links: &'a Links) -> Result<Self> {
        // What wasm-bindgen puts around a function has a note behind the name.
        let is_compiled = |name: &str| name.starts_with(COMPILED) && !name.contains(' ');
        let is_lost = |name: &str| is_compiled(name) && !links.functions.contains_key(name);
        if let Some(lost) =
            functions.iter().filter_map(|function| function.name.as_deref()).find(|name| is_lost(name))
        {
            return Err(format!("{lost} is no function of the linker's").into());
        }
        let mut named: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, function) in functions.iter().enumerate() {
            named.entry(function.name.as_deref().unwrap_or_default()).or_default().push(at);
        }
        let of = |function: &&'a walrus::Function| links.functions.get(function.name.as_deref()?);
        Ok(By { links, functions: functions.iter().map(of).collect(), named })
    }

    /// What a node takes the addresses of, as nodes; of those, the first `count` are functions.
    fn of(&self, node: usize, count: usize) -> impl Iterator<Item = usize> {
        let addresses = match node < count {
            true => self.functions[node],
            false => Some(&self.links.data[node - count].addresses),
        };
        addresses.into_iter().flat_map(move |addresses| {
            let functions = addresses.functions.iter().filter_map(|name| self.named.get(name.as_str()));
            functions.flatten().copied().chain(addresses.data.iter().map(move |datum| count + datum))
        })
    }
}

/// The part of each node: where it is fixed, else the nearest one above all that mention it. What nobody mentions is in the first.
fn placed(
    fixed: Vec<Option<Part>>,
    nodes: usize,
    exported: &[usize],
    mentioned_by: impl Fn(usize) -> Vec<usize>,
) -> Vec<Part> {
    let mut place = fixed.clone();
    place.resize(nodes, None);
    let is_fixed = |node: usize| fixed.get(node).is_some_and(Option::is_some);
    for &node in exported {
        place[node].get_or_insert(0);
    }
    let mut changed: Vec<usize> = (0..nodes).filter(|node| place[*node].is_some()).collect();
    while let Some(node) = changed.pop() {
        let Some(part) = place[node] else { continue };
        for mentioned in mentioned_by(node) {
            let wanted = place[mentioned].map_or(part, |before| meet(before, part));
            if !is_fixed(mentioned) && place[mentioned] != Some(wanted) {
                place[mentioned] = Some(wanted);
                changed.push(mentioned);
            }
        }
    }
    place.into_iter().map(|part| part.unwrap_or(0)).collect()
}

/// The data of each part. Bytes that are no piece's are the first part's, unless they are zero, as memory is anyway.
fn pieces(module: &Module, links: &Links, place: &[Part], parts: usize) -> Result<Vec<Vec<Piece>>> {
    let mut pieces: Vec<Vec<Piece>> = vec![Vec::new(); parts];
    for segment in module.data.iter() {
        let DataKind::Active { offset: ConstExpr::Value(ir::Value::I32(start)), .. } = segment.kind else {
            return Err("a data segment has no fixed place".into());
        };
        let start = start as u32;
        let end = start + segment.value.len() as u32;
        let bytes = |from: u32, to: u32| &segment.value[(from - start) as usize..(to - start) as usize];
        // What lies between two pieces that are loaded as one must not have been written to: the first part is loaded before
        // anything runs.
        let mut before = None;
        let mut add = |part: Part, from: u32, to: u32| {
            let joins = part == 0 || before == Some(part);
            before = Some(part);
            match pieces[part].last_mut() {
                Some((at, last)) if joins && *at >= start && *at + (last.len() as u32) + GAP > from => {
                    let begun = *at + last.len() as u32;
                    last.extend_from_slice(bytes(begun, to));
                }
                _ => pieces[part].push((from, bytes(from, to).to_vec())),
            }
        };
        let first = links.data.partition_point(|datum| datum.range.start < start);
        let own = links.data.iter().zip(place).skip(first).take_while(|(datum, _)| datum.range.start < end);
        let mut at = start;
        for (datum, &part) in own {
            if bytes(at, datum.range.start).iter().any(|byte| *byte != 0) {
                add(0, at, datum.range.start);
            }
            add(part, datum.range.start, datum.range.end);
            at = datum.range.end;
        }
        if at < end {
            add(0, at, end);
        }
    }
    Ok(pieces)
}

/// The table through which functions are called.
pub fn function_table(module: &Module) -> Result<TableId> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_form_a_tree() {
        assert_eq!([meet(0, 3), meet(1, 3), meet(2, 3), meet(3, 3), meet(3, 1)], [0, 1, 1, 3, 1]);
        assert_eq!([has(0, 3), has(1, 3), has(2, 3), has(3, 1)], [true, true, false, false]);
    }

    /// 0 is exported; 1, 2 and 3 are ruled into parts of these numbers.
    #[test]
    fn what_is_mentioned_lies_above_all_that_mention_it() {
        let mentions: [&[usize]; 9] = [&[1, 4], &[5], &[6, 7, 5, 0], &[6, 8], &[4], &[], &[7], &[6], &[3, 1]];
        let fixed = vec![None, Some(1), Some(2), Some(3), None];
        let place = placed(fixed, 10, &[0], |node| mentions.get(node).map_or(Vec::new(), |to| to.to_vec()));
        assert_eq!(place[..5], [0, 1, 2, 3, 0], "what is ruled is where the rules put it");
        assert_eq!(place[5], 1, "of the second part, which is above the third");
        assert_eq!(place[6..8], [1, 1], "of two parts side by side, and of what these mention");
        assert_eq!(place[8], 3, "of one alone");
        assert_eq!(place[9], 0, "what nobody mentions comes first");
    }
}
