/** The small model of digits that is part of the app, for those who have not trained one yet: made by `scripts/pretrain.mjs`. */

const ADDRESS = new URL("./models/digits.safetensors", import.meta.url);

export async function builtInModel(): Promise<Uint8Array> {
  const response = await fetch(ADDRESS).catch(() => undefined);
  if (response?.ok !== true)
    throw new Error("the small model that comes with the app could not be fetched: is the network away?");
  return new Uint8Array(await response.arrayBuffer());
}
