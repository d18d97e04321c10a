/** Errors in the reader's words. */

export const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error)).replace(/^flambeau: /, "");
