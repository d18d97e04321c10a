import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { withAddress } from "../../scripts/address.mjs";

/** The tests are run in the package's folder. */
const html = readFileSync(join(process.cwd(), "../../web/index.html"), "utf8");
const tagged = (page: string, name: string) => new RegExp(`<meta property="${name}" content="([^"]*)"`).exec(page)?.[1];

test("with an address, chats find the picture and the page by whole addresses; the slash may be left out", () => {
  for (const address of ["https://example.org/flambeau", "https://example.org/flambeau/"]) {
    const page = withAddress(html, address);
    assert.equal(tagged(page, "og:image"), "https://example.org/flambeau/social.png");
    assert.equal(tagged(page, "og:url"), "https://example.org/flambeau/");
    assert.match(page, /<link rel="canonical" href="https:\/\/example.org\/flambeau\/" \/>/);
  }
  for (const name of ["og:type", "og:site_name", "og:title", "og:description", "og:image", "og:image:alt"])
    assert.ok((tagged(html, name) ?? "") !== "", name);
});

test("without an address the page stays as it is; what is no address is refused", () => {
  assert.equal(withAddress(html, undefined), html);
  assert.equal(withAddress(html, ""), html);
  assert.throws(() => withAddress(html, "example.org"), /FLAMBEAU_ADDRESS is no address of a page: example.org/);
});
