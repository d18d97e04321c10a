// What a page that is linked to tells chats about itself: whole addresses, which only the host's own address can give.

/** The page with the address it will have: the picture's place, and its own. An error says when it is none. */
export function withAddress(html, address) {
  if (address === undefined || address === "") return html;
  const base = address.endsWith("/") ? address : `${address}/`;
  if (!URL.canParse(base) || !/^https?:/.test(base)) throw new Error(`FLAMBEAU_ADDRESS is no address of a page: ${address}`);
  const picture = new URL("social.png", base).href;
  return html
    .replace('content="./social.png"', `content="${picture}"`)
    .replace(
      "</title>",
      `</title>\n    <meta property="og:url" content="${base}" />\n    <link rel="canonical" href="${base}" />`,
    );
}
