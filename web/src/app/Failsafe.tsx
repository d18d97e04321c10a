/** Shows what broke instead of an empty page. */

import { Component, type ReactNode } from "react";
import { Notice } from "../ui/show.js";

export class Failsafe extends Component<{ children: ReactNode }, { error: Error | undefined }> {
  override state: { error: Error | undefined } = { error: undefined };

  static getDerivedStateFromError(error: unknown): { error: Error } {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    return (
      <Notice kind="error" title="This page broke">
        <p>{error.message}</p>
        <p>
          <button type="button" onClick={() => location.reload()}>
            Load it again
          </button>
        </p>
      </Notice>
    );
  }
}
