/** Fields that hold something wrong tell their page, so that it does not go on with what they held before. */

import { createContext, useCallback, useContext, useEffect, useId, useState, type ReactNode } from "react";

/** What is wrong with a field, in words that name it; nothing once it is mended or gone. */
type Tell = (field: string, problem: string | undefined) => void;

const Context = createContext<Tell>(() => undefined);

/** Tells the page around a field what is wrong with it. */
export function useTellProblem(problem: string | undefined): void {
  const field = useId();
  const tell = useContext(Context);
  useEffect(() => {
    tell(field, problem);
    return () => tell(field, undefined);
  }, [tell, field, problem]);
}

/** The first problem among the fields inside of `Fields`. */
export function useFields(): { problem: string | undefined; tell: Tell } {
  const [problems, setProblems] = useState<ReadonlyMap<string, string>>(new Map());
  const tell = useCallback<Tell>(
    (field, problem) =>
      setProblems((before) => {
        if (before.get(field) === problem) return before;
        const next = new Map(before);
        if (problem === undefined) next.delete(field);
        else next.set(field, problem);
        return next;
      }),
    [],
  );
  const [problem] = problems.values();
  return { problem, tell };
}

export function Fields({ tell, children }: { tell: Tell; children: ReactNode }) {
  return <Context.Provider value={tell}>{children}</Context.Provider>;
}
