/** Errors in the reader's words. */

export const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error)).replace(/^flambeau: /, "");

const MISFIT = "Misfit";

/** The error of weights that a model cannot take up. Its name says so, as only that crosses from a worker. */
export function misfit(cause: unknown): Error {
  const error = new Error(`The weights of the model file do not fit these layers: ${messageOf(cause)}`, { cause });
  error.name = MISFIT;
  return error;
}

export const isMisfit = (error: unknown) => error instanceof Error && error.name === MISFIT;
