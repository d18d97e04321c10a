/** The width of an element, for what is drawn at a size of its own. */

import { useLayoutEffect, useState, type RefObject } from "react";

/** The inner width in whole CSS pixels, known before the first paint; `first` until the element is there. */
export function useWidth(element: RefObject<HTMLElement | null>, first: number): number {
  const [width, setWidth] = useState(first);
  useLayoutEffect(() => {
    const measured = element.current;
    if (measured === null) return;
    const measure = () => setWidth(measured.clientWidth);
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(measured);
    return () => watch.disconnect();
  }, [element]);
  return width;
}
