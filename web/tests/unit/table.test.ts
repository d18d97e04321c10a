import assert from "node:assert/strict";
import { test } from "node:test";
import { describeColumns, guessDelimiter, readRecords, readTable } from "../../src/work/table.js";

const cells = (text: string) => readRecords(text, ",").map(({ cells }) => cells);

test("quotes hold delimiters, line ends and quotes", () => {
  assert.deepEqual(cells('a,"b,c","d\n""e"""\r\n1,2,3\n'), [
    ["a", "b,c", 'd\n"e"'],
    ["1", "2", "3"],
  ]);
  assert.throws(() => readRecords('a,b\n"c,d\ne', ","), { message: "row 2 has a quotation mark that is never closed" });
});

test("line ends of all systems, a mark of byte order, empty cells and a last line without an end", () => {
  assert.deepEqual(cells("\ufeffa,b\r\n1,\r,2\n3,4"), [
    ["a", "b"],
    ["1", ""],
    ["", "2"],
    ["3", "4"],
  ]);
  assert.deepEqual(cells("a,b\n1,"), [
    ["a", "b"],
    ["1", ""],
  ]);
});

test("blank lines are left out and counted, a line end inside of quotes is not", () => {
  assert.deepEqual(
    readRecords('x\n\n"1\n2"\n \n3', ",").map(({ cells, place }) => [place, cells[0]]),
    [
      [1, "x"],
      [3, "1\n2"],
      [5, "3"],
    ],
  );
});

test("the delimiter is the one that gives even rows", () => {
  assert.equal(guessDelimiter("a;b;c\n1,5;2;3\n4;5,5;6\n"), ";");
  assert.equal(guessDelimiter("a\tb\n1, 2\t3\n4\t5\n"), "\t");
  assert.equal(guessDelimiter('a,b\n"1;2;3",4\n"5;6;7",8\n'), ",");
  assert.equal(guessDelimiter("a|b|c\n1|2|3\n"), "|");
  assert.equal(guessDelimiter("one column\n1\n2\n"), ",");
});

test("a header is one where no name is a number, and what is told is not guessed", () => {
  assert.deepEqual(
    [readTable("a,b\n1,2\n").names, readTable("1,2\n3,4\n").names],
    [
      ["a", "b"],
      ["column 1", "column 2"],
    ],
  );
  assert.deepEqual(readTable("1,2\n3,4\n", { header: true }).names, ["1", "2"]);
  assert.deepEqual(readTable("red,1\nblue,2\n").header, false);
  assert.deepEqual(readTable("a;b\n1,5;2\n").rows, [["1,5", "2"]]);
});

test("columns without a name, or with the same, get names of their own", () => {
  assert.deepEqual(readTable("a,,a,a\n1,2,3,4\n").names, ["a", "column 2", "a (2)", "a (3)"]);
});

test("a row of another length is named by its place, blank lines counted", () => {
  assert.throws(() => readTable("a,b\n\n1,2\n\n1,2,3\n"), { message: "row 5 has 3 cells, and the header has 2" });
  assert.throws(() => readTable("1,2\n1\n"), { message: "row 2 has 1 cells, and row 1 has 2" });
  assert.throws(() => readTable("\n\n"), { message: "the file is empty" });
  assert.throws(() => readTable("a,b\n", { header: true }), { message: "the table has a header and no rows" });
});

test("columns are of numbers if one cell is, and gaps are counted", () => {
  assert.deepEqual(describeColumns(readTable("a,b,c\n1,x,\nNA,y,?\n1,,null\n")), [
    { name: "a", kind: "numbers", missing: 1, distinct: 1 },
    { name: "b", kind: "words", missing: 1, distinct: 2 },
    { name: "c", kind: "words", missing: 3, distinct: 0 },
  ]);
});
