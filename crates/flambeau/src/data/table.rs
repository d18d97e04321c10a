//! Tables from CSV: text in rows and named columns, and the arrays made of them.

use super::array::HostArray;
use super::origin::Origin;
use crate::error::{Error, Result};
use crate::io::ReadLimits;
use crate::io::limits::Budget;
use csv_core::ReadFieldResult;

/// The most columns a table may have: every one has a name of its own.
const MAX_COLUMNS: usize = 1 << 20;

/// How a table is written.
///
/// ```
/// use flambeau::data::{Table, TableOptions};
/// let options = TableOptions { delimiter: b';', header: false, ..Default::default() };
/// assert_eq!(Table::parse(b"1;2\n3;4\n", options)?.len(), 2);
/// # Ok::<(), flambeau::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct TableOptions {
    /// What stands between fields: a comma.
    pub delimiter: u8,
    /// Does the first line name the columns? Without names they are "0", "1", …
    pub header: bool,
    /// The memory that reading it may take.
    pub limits: ReadLimits,
}

impl Default for TableOptions {
    fn default() -> Self {
        TableOptions { delimiter: b',', header: true, limits: ReadLimits::default() }
    }
}

/// A table of text.
///
/// ```
/// use flambeau::data::{ArrayDataset, Table};
/// let table = Table::parse(b"width,kind\n1.5,cat\n2,dog\n3,cat\n", Default::default())?;
/// let (kinds, names) = table.classes("kind")?;
/// assert_eq!(table.numbers(&["width"])?.values::<f32>()?, [1.5, 2.0, 3.0]);
/// assert_eq!((kinds.values::<i32>()?, names), (vec![0, 1, 0], vec!["cat".to_string(), "dog".into()]));
/// let data = ArrayDataset::new([table.numbers(&["width"])?, kinds])?;
/// # Ok::<(), flambeau::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Table {
    origin: Origin,
    names: Vec<String>,
    fields: Fields,
}

impl Table {
    /// A table from the bytes of a CSV file. Rows must have equally many fields.
    pub fn parse(bytes: &[u8], options: TableOptions) -> Result<Table> {
        Table::parse_from(bytes, options, Origin::bytes("CSV data"))
    }

    /// A table from a CSV file.
    ///
    /// ```no_run
    /// use flambeau::data::{Source, Table};
    /// let table = Table::open(&Source::file("iris.csv"), Default::default())?;
    /// # Ok::<(), flambeau::Error>(())
    /// ```
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open(source: &super::Source, options: TableOptions) -> Result<Table> {
        Table::parse_from(&source.read()?, options, source.origin())
    }

    fn parse_from(bytes: &[u8], options: TableOptions, origin: Origin) -> Result<Table> {
        let budget = Budget::new(options.limits, bytes.len());
        match Parser::new(bytes, &options, &budget).and_then(|parser| parser.run(&budget)) {
            Ok((names, fields)) => Ok(Table { origin, names, fields }),
            Err(message) => Err(origin.error(message)),
        }
    }

    /// The number of rows, without the header.
    pub fn len(&self) -> usize {
        self.fields.ends.len() / self.names.len().max(1)
    }

    /// Is there no row?
    pub fn is_empty(&self) -> bool {
        self.fields.ends.is_empty()
    }

    /// The names of the columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    fn column(&self, name: &str) -> Result<usize> {
        self.names.iter().position(|present| present == name).ok_or_else(|| {
            self.origin.error(format!("there is no column {name}; there are {}", self.names.join(", ")))
        })
    }

    fn field(&self, row: usize, column: usize) -> &str {
        self.fields.get(row * self.names.len() + column)
    }

    /// A column as text.
    pub fn text(&self, name: &str) -> Result<Vec<&str>> {
        let column = self.column(name)?;
        Ok((0..self.len()).map(|row| self.field(row, column)).collect())
    }

    /// Columns of numbers: F32 of shape (rows, columns). An empty field is NaN; any other text is an error.
    pub fn numbers(&self, names: &[&str]) -> Result<HostArray> {
        let columns = names.iter().map(|name| self.column(name)).collect::<Result<Vec<_>>>()?;
        let mut values = Vec::with_capacity(self.len() * columns.len());
        for row in 0..self.len() {
            for (&column, name) in columns.iter().zip(names) {
                let field = self.field(row, column);
                let value = if field.is_empty() { Some(f32::NAN) } else { field.parse().ok() };
                values.push(value.ok_or_else(|| self.not_a_number(field, row, name))?);
            }
        }
        HostArray::new(&values, [self.len(), columns.len()])
    }

    fn not_a_number(&self, field: &str, row: usize, name: &str) -> Error {
        self.origin.error(format!("`{field}` in row {row}, column {name}, is not a number"))
    }

    /// A column of names: the class of every row (I32), and the names in alphabetical order.
    pub fn classes(&self, name: &str) -> Result<(HostArray, Vec<String>)> {
        let texts = self.text(name)?;
        let mut names = texts.clone();
        names.sort_unstable();
        names.dedup();
        let classes: Vec<i32> =
            texts.iter().map(|text| names.partition_point(|name| name < text) as i32).collect();
        Ok((HostArray::new(&classes, [classes.len()])?, names.into_iter().map(str::to_owned).collect()))
    }
}

/// The fields of all rows, one after the other.
#[derive(Debug, Clone)]
struct Fields {
    text: String,
    /// Where in the text each field ends.
    ends: Vec<u32>,
}

impl Fields {
    fn get(&self, index: usize) -> &str {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start as usize..self.ends[index] as usize]
    }
}

/// Reads fields into one text; what is wrong is said without the file's name.
struct Parser<'a> {
    core: csv_core::Reader,
    rest: &'a [u8],
    text: Vec<u8>,
    ends: Vec<u32>,
    /// How much of the text is filled.
    filled: usize,
    /// The fields of the first line; none before its end.
    columns: Option<usize>,
    header: bool,
    names: Vec<String>,
}

impl<'a> Parser<'a> {
    fn new(
        bytes: &'a [u8],
        options: &TableOptions,
        budget: &Budget,
    ) -> std::result::Result<Parser<'a>, String> {
        if u32::try_from(bytes.len()).is_err() {
            return Err(format!("a table of {} bytes is too large: 4 GiB are the limit", bytes.len()));
        }
        let mut text = budget.buffer(bytes.len())?;
        text.resize(bytes.len(), 0);
        let ends_field = |byte: &&u8| matches!(**byte, b'\r' | b'\n') || **byte == options.delimiter;
        let ends = budget.buffer(bytes.iter().filter(ends_field).count() + 1)?;
        let core = csv_core::ReaderBuilder::new().delimiter(options.delimiter).build();
        let (filled, columns, names) = (0, None, Vec::new());
        Ok(Parser { core, rest: bytes, text, ends, filled, columns, header: options.header, names })
    }

    /// The columns' names, and the rows.
    fn run(mut self, budget: &Budget) -> std::result::Result<(Vec<String>, Fields), String> {
        let (mut start, mut row) = (0, 0);
        loop {
            let (result, read, written) = self.core.read_field(self.rest, &mut self.text[self.filled..]);
            let newline = read > 0 && self.rest[read - 1] == b'\n';
            self.rest = &self.rest[read..];
            self.filled += written;
            let line = self.core.line() - u64::from(newline);
            match result {
                ReadFieldResult::InputEmpty => {}
                ReadFieldResult::OutputFull => {
                    return Err(format!("line {line}: a field is longer than the file"));
                }
                ReadFieldResult::End => break,
                ReadFieldResult::Field { record_end } => {
                    self.finish_field(start, line)?;
                    start = self.filled;
                    if self.columns.is_none() && self.ends.len() > MAX_COLUMNS {
                        return Err(format!("line {line}: more than {MAX_COLUMNS} columns"));
                    }
                    if record_end {
                        self.finish_row(row, line, budget)?;
                        (start, row) = (self.filled, self.ends.len());
                    }
                }
            }
        }
        self.text.truncate(self.filled);
        let text = String::from_utf8(self.text).map_err(|error| error.to_string())?;
        Ok((self.names, Fields { text, ends: self.ends }))
    }

    /// The field that begins at `start`, without blanks around it.
    fn finish_field(&mut self, start: usize, line: u64) -> std::result::Result<(), String> {
        let whole = std::str::from_utf8(&self.text[start..self.filled])
            .map_err(|_| format!("line {line}: a field is not UTF-8"))?;
        let (blanks, length) = (whole.len() - whole.trim_start().len(), whole.trim().len());
        self.text.copy_within(start + blanks..start + blanks + length, start);
        self.filled = start + length;
        self.ends.push(self.filled as u32);
        Ok(())
    }

    /// The row whose first field is number `first`: the names, or one with as many fields as there are columns.
    fn finish_row(&mut self, first: usize, line: u64, budget: &Budget) -> std::result::Result<(), String> {
        let found = self.ends.len() - first;
        match self.columns {
            Some(columns) if found != columns => {
                Err(format!("line {line}: {found} fields, but the first line has {columns}"))
            }
            Some(_) => Ok(()),
            None => {
                self.columns = Some(found);
                self.names = budget.buffer(found)?;
                budget.take(self.filled + 8 * found)?;
                if !self.header {
                    self.names.extend((0..found).map(|column| column.to_string()));
                    return Ok(());
                }
                let starts = std::iter::once(0).chain(self.ends.iter().copied());
                let name = |(start, end): (u32, &u32)| {
                    String::from_utf8_lossy(&self.text[start as usize..*end as usize]).into_owned()
                };
                self.names.extend(starts.zip(&self.ends).map(name));
                self.ends.clear();
                self.filled = 0;
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_blanks_and_missing_numbers() {
        let text = b"a,\"b, c\"\r\n 1 , x \r\n,\"say \"\"y\"\"\"\r\n";
        let table = Table::parse(text, TableOptions::default()).unwrap();
        assert_eq!(table.names(), ["a", "b, c"]);
        assert_eq!(table.text("b, c").unwrap(), ["x", "say \"y\""]);
        let numbers = table.numbers(&["a"]).unwrap().values::<f32>().unwrap();
        assert!(numbers[0] == 1.0 && numbers[1].is_nan());
    }

    #[test]
    fn errors_say_where() {
        let message = |result: Result<HostArray>| result.unwrap_err().to_string();
        let table = Table::parse(b"a,b\n1,2\n3,x\n", TableOptions::default()).unwrap();
        assert_eq!(message(table.numbers(&["b"])), "<CSV data>: `x` in row 1, column b, is not a number");
        assert_eq!(message(table.numbers(&["c"])), "<CSV data>: there is no column c; there are a, b");
        let ragged = Table::parse(b"a,b\n1,2\n3\n", TableOptions::default()).unwrap_err().to_string();
        assert_eq!(ragged, "<CSV data>: line 3: 1 fields, but the first line has 2");
        let bytes = Table::parse(b"a\n\xff\n", TableOptions::default()).unwrap_err().to_string();
        assert_eq!(bytes, "<CSV data>: line 2: a field is not UTF-8");
    }

    #[test]
    fn line_ends_of_every_kind() {
        let plain = TableOptions { header: false, ..Default::default() };
        for (text, rows) in [
            (&b"1,2\n3,4"[..], 2),
            (b"1,2\r\n\r\n3,4\r\n\n", 2),
            (b"1,2\r3,4\r", 2),
            (b"\xef\xbb\xbf1,2", 1),
            (b"\"1\n\",2", 1),
            (b"", 0),
            (b"\n\n", 0),
        ] {
            let table = Table::parse(text, plain).unwrap();
            assert_eq!((table.len(), table.is_empty()), (rows, rows == 0), "{text:?}");
            let names: &[&str] = if rows > 0 { &["0", "1"] } else { &[] };
            assert_eq!(table.names(), names);
            if rows > 0 {
                let expected = [1.0, 2.0, 3.0, 4.0];
                assert_eq!(table.numbers(names).unwrap().values::<f32>().unwrap(), expected[..2 * rows]);
            }
        }
        assert!(Table::parse(b"a,b\n", TableOptions::default()).unwrap().is_empty());
    }

    #[test]
    fn lines_of_commas_are_refused() {
        let error = Table::parse(&vec![b','; 2 << 20], TableOptions::default()).unwrap_err().to_string();
        assert_eq!(error, "<CSV data>: line 1: more than 1048576 columns");
        let limits = ReadLimits::memory(100);
        let options = TableOptions { limits, ..Default::default() };
        let error = Table::parse(&[b'1'; 101], options).unwrap_err().to_string();
        assert!(error.contains("the limit of 100 bytes"), "{error}");
    }
}
