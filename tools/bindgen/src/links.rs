//! What the functions and the data of a module refer to by address, as the linker says it (`--emit-relocs`): in the linked
//! module addresses are plain numbers.
//!
//! Functions go by their names, which later passes leave as they are.

use std::collections::HashMap;
use std::ops::Range;

use wasmparser::{
    BinaryReader, DataKind, KnownCustom, Linking, Name, Operator, Parser, Payload, RelocSectionReader,
    RelocationEntry, RelocationType, SymbolInfo,
};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Who refers to what.
#[derive(Default)]
pub struct Links {
    /// What each function takes the address of.
    pub functions: HashMap<String, Addresses>,
    /// The pieces of data, by their addresses; none overlaps another.
    pub data: Vec<Datum>,
}

/// Things whose address is taken.
#[derive(Default, Clone)]
pub struct Addresses {
    /// Functions, by name.
    pub functions: Vec<String>,
    /// Pieces of data, by their place in [`Links::data`].
    pub data: Vec<usize>,
}

/// A piece of data that is used as a whole: a text, a table, a variable.
pub struct Datum {
    pub range: Range<u32>,
    pub addresses: Addresses,
}

/// What a symbol of the linker stands for.
enum Symbol {
    Function(u32),
    /// Where it begins in memory.
    Data(u32),
    Other,
}

/// A stretch of the file that is loaded into memory, counted from where its section begins.
struct Segment {
    file: Range<usize>,
    memory: u32,
}

#[derive(Default)]
struct Sections<'a> {
    /// Where each function of the module's own lies, counted from where the code begins.
    bodies: Vec<Range<usize>>,
    imported: u32,
    segments: Vec<Segment>,
    names: HashMap<u32, &'a str>,
    symbols: Vec<SymbolInfo<'a>>,
    code: Vec<RelocationEntry>,
    data: Vec<RelocationEntry>,
}

impl Links {
    /// Reads what the linker left in its module; an error if that is nothing.
    pub fn read(wasm: &[u8]) -> Result<Links> {
        let sections = Sections::read(wasm)?;
        if sections.symbols.is_empty() {
            return Err("the module was linked without --emit-relocs".into());
        }
        let mut links = Links::default();
        let symbols = links.take_data(&sections);
        let name = |function: u32| sections.names.get(&function).map(|name| name.to_string());
        for entry in &sections.code {
            let at = entry.offset as usize;
            let body = sections.bodies.partition_point(|body| body.end <= at);
            let Some(from) = name(sections.imported + body as u32) else { continue };
            let addresses = taken(entry, &symbols, &links.data, name);
            links.functions.entry(from).or_default().add(addresses);
        }
        for entry in &sections.data {
            let at = entry.offset as usize;
            let segment = sections.segments.iter().find(|segment| segment.file.contains(&at));
            let Some(segment) = segment else { continue };
            let from = datum_at(&links.data, segment.memory + (at - segment.file.start) as u32);
            let addresses = taken(entry, &symbols, &links.data, name);
            if let Some(from) = from {
                links.data[from].addresses.add(addresses);
            }
        }
        for name in sections.names.values() {
            links.functions.entry(name.to_string()).or_default();
        }
        Ok(links)
    }

    /// Makes the pieces of the symbols of data, and says what each symbol stands for.
    fn take_data(&mut self, sections: &Sections) -> Vec<Symbol> {
        let mut ranges: Vec<Range<u32>> = Vec::new();
        let symbols = sections.symbols.iter().map(|symbol| match symbol {
            SymbolInfo::Func { index, .. } => Symbol::Function(*index),
            SymbolInfo::Data { symbol: Some(place), .. } if place.size > 0 => {
                // What is zero at first is in memory only.
                let Some(segment) = sections.segments.get(place.index as usize) else { return Symbol::Other };
                let start = segment.memory + place.offset;
                ranges.push(start..start + place.size);
                Symbol::Data(start)
            }
            _ => Symbol::Other,
        });
        let symbols = symbols.collect();
        ranges.sort_by_key(|range| (range.start, range.end));
        for range in ranges {
            match self.data.last_mut() {
                Some(last) if range.start < last.range.end => {
                    last.range.end = last.range.end.max(range.end);
                }
                _ => self.data.push(Datum { range, addresses: Addresses::default() }),
            }
        }
        symbols
    }
}

impl Addresses {
    fn add(&mut self, more: Addresses) {
        self.functions.extend(more.functions);
        self.data.extend(more.data);
    }
}

/// The piece of data that an address lies in.
fn datum_at(data: &[Datum], address: u32) -> Option<usize> {
    let at = data.partition_point(|datum| datum.range.end <= address);
    data.get(at).is_some_and(|datum| datum.range.contains(&address)).then_some(at)
}

/// What is mentioned at one place.
fn taken(
    entry: &RelocationEntry,
    symbols: &[Symbol],
    data: &[Datum],
    name: impl Fn(u32) -> Option<String>,
) -> Addresses {
    use RelocationType::*;
    let mut found = Addresses::default();
    match (entry.ty, symbols.get(entry.index as usize)) {
        (TableIndexSleb | TableIndexI32, Some(Symbol::Function(function))) => {
            found.functions.extend(name(*function));
        }
        (MemoryAddrLeb | MemoryAddrSleb | MemoryAddrI32, Some(Symbol::Data(start))) => {
            found.data.extend(datum_at(data, *start));
        }
        _ => {}
    }
    found
}

impl<'a> Sections<'a> {
    fn read(wasm: &'a [u8]) -> Result<Self> {
        let mut sections = Sections::default();
        let mut code_start = 0;
        for payload in Parser::new(0).parse_all(wasm) {
            match payload? {
                Payload::ImportSection(imports) => {
                    for import in imports.into_imports() {
                        sections.imported += u32::from(matches!(import?.ty, wasmparser::TypeRef::Func(_)));
                    }
                }
                Payload::CodeSectionStart { range, .. } => code_start = range.start,
                Payload::CodeSectionEntry(body) => {
                    let range = body.range();
                    sections.bodies.push(range.start - code_start..range.end - code_start);
                }
                Payload::DataSection(data) => {
                    let start = data.range().start;
                    for segment in data {
                        let segment = segment?;
                        let DataKind::Active { offset_expr, .. } = segment.kind else { continue };
                        let Operator::I32Const { value } = offset_expr.get_operators_reader().read()? else {
                            return Err("a data segment has no fixed place".into());
                        };
                        let end = segment.range.end - start;
                        let file = end - segment.data.len()..end;
                        sections.segments.push(Segment { file, memory: value as u32 });
                    }
                }
                Payload::CustomSection(section) if section.name().starts_with("reloc.") => {
                    let reader = BinaryReader::new(section.data(), section.data_offset());
                    let entries = RelocSectionReader::new(reader)?.entries();
                    let list = match section.name() {
                        "reloc.CODE" => &mut sections.code,
                        "reloc.DATA" => &mut sections.data,
                        _ => continue,
                    };
                    for entry in entries {
                        list.push(entry?);
                    }
                }
                Payload::CustomSection(section) => match section.as_known() {
                    KnownCustom::Linking(linking) => {
                        for part in linking.subsections() {
                            let Linking::SymbolTable(symbols) = part? else { continue };
                            sections.symbols = symbols.into_iter().collect::<std::result::Result<_, _>>()?;
                        }
                    }
                    KnownCustom::Name(names) => {
                        for part in names {
                            let Name::Function(names) = part? else { continue };
                            for naming in names {
                                let naming = naming?;
                                sections.names.insert(naming.index, naming.name);
                            }
                        }
                    }
                    _ => {}
                },
                _ => {}
            }
        }
        Ok(sections)
    }
}
