//! Tables from CSV: text in rows and named columns, and the arrays made of them.

use super::array::HostArray;
use super::origin::Origin;
use crate::error::{Error, Result};

/// How a table is written.
///
/// ```
/// use flambeau::data::{Table, TableOptions};
/// let options = TableOptions { delimiter: b';', header: false };
/// assert_eq!(Table::parse(b"1;2\n3;4\n", options)?.len(), 2);
/// # Ok::<(), flambeau::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct TableOptions {
    /// What stands between fields: a comma.
    pub delimiter: u8,
    /// Does the first line name the columns? Without names they are "0", "1", …
    pub header: bool,
}

impl Default for TableOptions {
    fn default() -> Self {
        TableOptions { delimiter: b',', header: true }
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
    rows: Vec<csv::StringRecord>,
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
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(options.delimiter)
            .has_headers(options.header)
            .trim(csv::Trim::All)
            .from_reader(bytes);
        let failed = |error: csv::Error| origin.error(error);
        let names: Vec<String> = match options.header {
            true => reader.headers().map_err(failed)?.iter().map(str::to_owned).collect(),
            false => Vec::new(),
        };
        let rows = reader.records().collect::<std::result::Result<Vec<_>, _>>().map_err(failed)?;
        let names = match options.header {
            true => names,
            false => (0..rows.first().map_or(0, |row| row.len())).map(|column| column.to_string()).collect(),
        };
        Ok(Table { origin, names, rows })
    }

    /// The number of rows, without the header.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Is there no row?
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
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

    /// A column as text.
    pub fn text(&self, name: &str) -> Result<Vec<&str>> {
        let column = self.column(name)?;
        Ok(self.rows.iter().map(|row| row.get(column).unwrap_or_default()).collect())
    }

    /// Columns of numbers: F32 of shape (rows, columns). An empty field is NaN; any other text is an error.
    pub fn numbers(&self, names: &[&str]) -> Result<HostArray> {
        let columns = names.iter().map(|name| self.column(name)).collect::<Result<Vec<_>>>()?;
        let mut values = Vec::with_capacity(self.len() * columns.len());
        for (number, row) in self.rows.iter().enumerate() {
            for (&column, name) in columns.iter().zip(names) {
                let field = row.get(column).unwrap_or_default();
                let value = if field.is_empty() { Some(f32::NAN) } else { field.parse().ok() };
                values.push(value.ok_or_else(|| self.not_a_number(field, number, name))?);
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
        assert!(ragged.contains("line: 3"), "{ragged}");
        assert!(Table::parse(b"a\n\xff\n", TableOptions::default()).is_err());
    }
}
