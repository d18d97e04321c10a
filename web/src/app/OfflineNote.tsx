/** Says in the foot that the app works offline, and that a newer one waits. */

import { Button } from "../ui/controls.js";
import { useOffline } from "../offline/state.js";

export function OfflineNote() {
  const { ready, newer } = useOffline();
  if (!ready) return null;
  return (
    <p role="status">
      {newer ? (
        <>
          A newer version of the app is ready.{" "}
          <Button small onClick={() => location.reload()}>
            Open it
          </Button>
        </>
      ) : (
        "Every page is kept in this browser: it works without a network, and can be installed."
      )}
    </p>
  );
}
