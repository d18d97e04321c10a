/** Says what a link asks for and the page cannot make out. */

import { Notice } from "../ui/show.js";
import { usePlace } from "./route.js";
import { misread, type Schema } from "./url.js";

/** Nothing where the address can be read in full. */
export function Misread<S extends object>({ schema }: { schema: Schema<S> }) {
  const { query } = usePlace();
  const names = misread(schema, query);
  if (names.length === 0) return null;
  return (
    <Notice kind="note" title="A part of the link could not be read">
      <p>
        The {names.join(" and the ")} in the link could not be read (
        {names.map((name) => `${name}=${query.get(name)}`).join(", ")}
        ). What this page begins with is used instead.
      </p>
    </Notice>
  );
}
