/** Cases of the ops that make tensors, give them other shapes, and pick or sort their elements. */

import {
  arange,
  cat,
  einsum,
  eye,
  full,
  Generator,
  hstack,
  linspace,
  meshgrid,
  meshgridXy,
  ones,
  rand,
  randint,
  randn,
  randperm,
  stack,
  vstack,
  zeros,
} from "flambeau";
import { CaseMaker, floats, given, integers, of, truths, type Case } from "./case.js";

const MATRIX = floats([6, 10]);
const CUBE = floats([3, 4, 5]);
const seeded = () => new Generator(7);

const creation = new CaseMaker("Creation and random numbers")
  .plain("full", [], () => full([4, 5], 1.5))
  .plain("zeros", [], () => zeros([4, 5]))
  .plain("ones", [], () => ones([4, 5], "i32"))
  .plain("arange", [], () => arange(-3, 9, 0.75))
  .plain("linspace", [], () => linspace(-1, 1, 21))
  .plain("eye", [], () => eye(5, 7))
  .plain("rand", [], () => rand([40, 40], seeded()))
  .plain("randn", [], () => randn([40, 40], seeded()))
  .plain("randint", [], () => randint(-5, 100, [40, 40], seeded()))
  .plain("randperm", [], () => randperm(300, seeded()))
  .plain("zerosLike", [MATRIX], ([x]) => of(x).zerosLike())
  .plain("onesLike", [MATRIX], ([x]) => of(x).onesLike())
  .plain("fullLike", [MATRIX], ([x]) => of(x).fullLike(-2.5))
  .plain("randLike", [MATRIX], ([x]) => of(x).randLike(seeded()))
  .plain("randnLike", [MATRIX], ([x]) => of(x).randnLike(seeded()))
  .plain("bernoulli", [floats([20, 20], 0, 1)], ([x]) => of(x).bernoulli(seeded()))
  .plain("bernoulliP", [MATRIX], ([x]) => of(x).bernoulliP(0.3, seeded()))
  .smooth("dropout", [MATRIX], ([x]) => of(x).dropout(0.4, seeded()))
  .smooth("featureDropout", [CUBE], ([x]) => of(x).featureDropout(0.4, seeded()))
  .smooth("alphaDropout", [MATRIX], ([x]) => of(x).alphaDropout(0.4, seeded()))
  .smooth("featureAlphaDropout", [CUBE], ([x]) => of(x).featureAlphaDropout(0.4, seeded()))
  .smooth("rrelu", [MATRIX], ([x]) => of(x).rrelu(1 / 8, 1 / 3, seeded()));

const shapes = new CaseMaker("Shapes")
  .plain("toDtype", [floats([6, 10], -9, 9)], ([x]) => of(x).toDtype("i32"))
  .plain("detach", [MATRIX], ([x]) => of(x).detach())
  .smooth("contiguous", [MATRIX], ([x]) => of(x).t().contiguous())
  .smooth("reshape", [MATRIX], ([x]) => of(x).reshape([4, -1]))
  .smooth("view", [MATRIX], ([x]) => of(x).view([5, 12]))
  .smooth("flatten", [CUBE], ([x]) => of(x).flatten(1))
  .smooth("unflatten", [MATRIX], ([x]) => of(x).unflatten(1, [2, -1]))
  .smooth("permute", [CUBE], ([x]) => of(x).permute([2, 0, 1]))
  .smooth("transpose", [CUBE], ([x]) => of(x).transpose(0, 2))
  .smooth("swapaxes", [CUBE], ([x]) => of(x).swapaxes(1, 2))
  .smooth("t", [MATRIX], ([x]) => of(x).t())
  .smooth("movedim", [CUBE], ([x]) => of(x).movedim(0, 2))
  .smooth("expand", [floats([6, 1])], ([x]) => of(x).expand([3, 6, 4]))
  .smooth("broadcastTo", [floats([6, 1])], ([x]) => of(x).broadcastTo([6, 4]))
  .smooth("unsqueeze", [MATRIX], ([x]) => of(x).unsqueeze(1))
  .smooth("squeeze", [floats([6, 1, 4, 1])], ([x]) => of(x).squeeze())
  .smooth("repeat", [MATRIX], ([x]) => of(x).repeat([2, 3]))
  .smooth("tile", [MATRIX], ([x]) => of(x).tile([3]))
  .smooth("repeatInterleave", [MATRIX], ([x]) => of(x).repeatInterleave(3, 1))
  .smooth("narrow", [MATRIX], ([x]) => of(x).narrow(1, 2, 5))
  .smooth("slice", [MATRIX], ([x]) => of(x).slice(1, 1, 9, 3))
  .smooth("select", [CUBE], ([x]) => of(x).select(1, -2))
  .smooth("flip", [MATRIX], ([x]) => of(x).flip([0, 1]))
  .smooth("roll", [MATRIX], ([x]) => of(x).roll([2, -3], [0, 1]))
  .smooth("unfold", [MATRIX], ([x]) => of(x).unfold(1, 4, 2))
  .smooth("split", [MATRIX], ([x]) => of(x).split([3, 3, 4], 1))
  .smooth("chunk", [MATRIX], ([x]) => of(x).chunk(4, 1))
  .smooth("unbind", [CUBE], ([x]) => of(x).unbind(1))
  .smooth("diagonal", [MATRIX], ([x]) => of(x).diagonal(2))
  .smooth("diagEmbed", [MATRIX], ([x]) => of(x).diagEmbed(-1))
  .smooth("diag", [floats([7])], ([x]) => of(x).diag(1))
  .smooth("tril", [MATRIX], ([x]) => of(x).tril(1))
  .smooth("triu", [MATRIX], ([x]) => of(x).triu(-1))
  .smooth("pad", [CUBE], ([x]) => of(x).pad([1, 2, 0, 1], "constant", 0.5))
  .smooth("pad", [CUBE], ([x]) => of(x).pad([2, 1], "reflect"))
  .smooth("pad", [CUBE], ([x]) => of(x).pad([2, 1], "replicate"))
  .smooth("pad", [CUBE], ([x]) => of(x).pad([2, 1], "circular"))
  .smooth("cat", [MATRIX, floats([2, 10])], (inputs) => cat(inputs, 0))
  .smooth("stack", [MATRIX, MATRIX], (inputs) => stack(inputs, 1))
  .smooth("hstack", [MATRIX, floats([6, 3])], (inputs) => hstack(inputs))
  .smooth("vstack", [MATRIX, floats([3, 10])], (inputs) => vstack(inputs))
  .smooth("meshgrid", [floats([4]), floats([6])], (inputs) => meshgrid(inputs))
  .smooth("meshgridXy", [floats([4]), floats([6])], (inputs) => meshgridXy(inputs))
  .smooth("pixelShuffle", [floats([2, 8, 3, 4])], ([x]) => of(x).pixelShuffle(2))
  .smooth("pixelUnshuffle", [floats([2, 2, 4, 6])], ([x]) => of(x).pixelUnshuffle(2))
  .smooth("einsum", [floats([4, 5, 6]), floats([4, 6, 3])], (inputs) => einsum("bij,bjk->bik", inputs));
for (const mode of ["nearest", "nearest-exact", "bilinear", "bicubic", "area"]) {
  shapes.smooth("interpolate", [floats([2, 3, 5, 6])], ([x]) => of(x).interpolate([7, 4], mode));
}
shapes.smooth("interpolateBy", [floats([2, 3, 5, 6])], ([x]) => of(x).interpolateBy([2, 2], "bilinear"));

const PLACES = integers([6, 4], 0, 10);
const ROWS = given([5, 0, 3, 3], [4], "i32");

const indexing = new CaseMaker("Indexing and sorting")
  .plain("oneHot", [integers([12], 0, 5)], ([x]) => of(x).oneHot(5))
  .smooth("gather", [MATRIX, PLACES], ([x, index]) => of(x).gather(1, of(index)))
  .smooth("takeAlongDim", [MATRIX, PLACES], ([x, index]) => of(x).takeAlongDim(of(index), 1))
  .smooth("indexSelect", [MATRIX, ROWS], ([x, index]) => of(x).indexSelect(0, of(index)))
  .smooth("scatterAdd", [MATRIX, PLACES, floats([6, 4])], ([x, index, values]) => of(x).scatterAdd(1, of(index), of(values)))
  .smooth("scatter", [MATRIX, given([1, 4, 0, 9, 2, 3], [6, 1], "i32"), floats([6, 1])], ([x, index, values]) =>
    of(x).scatter(1, of(index), of(values)),
  )
  .smooth("indexAdd", [MATRIX, ROWS, floats([4, 10])], ([x, index, source]) => of(x).indexAdd(0, of(index), of(source)))
  .smooth("maskedFill", [MATRIX, truths([6, 10])], ([x, mask]) => of(x).maskedFill(of(mask), -3))
  .smooth("embedding", [MATRIX, integers([3, 4], 0, 6)], ([table, indices]) => of(table).embedding(of(indices), 2))
  .smooth("embeddingBag", [MATRIX, integers([3, 4], 0, 6)], ([table, indices]) => of(table).embeddingBag(of(indices), "mean"))
  .plain("argsort", [floats([5, 70])], ([x]) => of(x).argsort(1))
  .smooth("sort", [floats([5, 70])], ([x]) => of(x).sort(1, true))
  .smooth("msort", [floats([40, 3])], ([x]) => of(x).msort())
  .smooth("topk", [floats([5, 70])], ([x]) => of(x).topk(6, 1))
  .smooth("kthvalue", [floats([5, 70])], ([x]) => of(x).kthvalue(4, 1))
  .smooth("median", [floats([5, 70])], ([x]) => of(x).median(1))
  .plain("maskedSelect", [MATRIX, truths([6, 10])], ([x, mask]) => of(x).maskedSelect(of(mask)))
  .plain("nonzero", [integers([6, 10], 0, 2)], ([x]) => of(x).nonzero())
  .plain("unique", [integers([60], 0, 9)], async ([x]) => {
    const { values, inverse, counts } = await of(x).unique();
    return [values, inverse, counts];
  });

/** Every case of this file. */
export const arrangement: readonly Case[] = [creation, shapes, indexing].flatMap(({ cases }) => cases);
