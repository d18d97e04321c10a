/** Pictures from the camera: it is on only while this is shown, and nothing of it leaves the page. */

import { useEffect, useRef, useState } from "react";
import { Button } from "../../ui/index.js";

/** Why there is no camera, in the reader's words. */
function whyNot(error: unknown): string {
  const name = error instanceof DOMException ? error.name : "";
  if (name === "NotAllowedError")
    return "The browser was told not to give this page the camera: allow it at the address bar, then try again.";
  if (name === "NotFoundError") return "No camera was found.";
  if (name === "NotReadableError") return "Another program uses the camera.";
  return error instanceof Error ? error.message : String(error);
}

export function Camera({ onPicture }: { onPicture: (picture: ImageBitmap) => void }) {
  const video = useRef<HTMLVideoElement>(null);
  const [state, setState] = useState<"opening" | "on" | string>("opening");
  const [attempt, setAttempt] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another attempt asks the browser again.
  useEffect(() => {
    let here = true;
    let stream: MediaStream | undefined;
    const open = async () => {
      // Pages over plain http have no camera, whatever the types say.
      const { mediaDevices } = navigator as { mediaDevices?: MediaDevices };
      if (mediaDevices === undefined) throw new Error("Browsers give the camera to pages over https only.");
      stream = await mediaDevices.getUserMedia({ video: { facingMode: "environment" }, audio: false });
      if (!here || video.current === null) return;
      video.current.srcObject = stream;
      await video.current.play();
      setState("on");
    };
    setState("opening");
    open()
      .catch((error: unknown) => here && setState(whyNot(error)))
      .finally(() => {
        if (!here) for (const track of stream?.getTracks() ?? []) track.stop();
      });
    return () => {
      here = false;
      for (const track of stream?.getTracks() ?? []) track.stop();
    };
  }, [attempt]);
  const take = async () => {
    const { current } = video;
    if (current === null) return;
    const { videoWidth: width, videoHeight: height } = current;
    const side = Math.min(width, height);
    const picture = await createImageBitmap(current, (width - side) / 2, (height - side) / 2, side, side);
    onPicture(picture);
    picture.close();
  };
  const isOpen = state === "on" || state === "opening";
  return (
    <div className="stacked">
      {isOpen ? (
        <video ref={video} className="try-camera" muted playsInline aria-label="What the camera sees" />
      ) : (
        <p className="field-problem" role="alert">
          {state}
        </p>
      )}
      <div className="buttons">
        {isOpen ? (
          <Button kind="primary" disabled={state !== "on"} onClick={() => void take()}>
            Take a picture
          </Button>
        ) : (
          <Button onClick={() => setAttempt(attempt + 1)}>Ask for the camera again</Button>
        )}
        <span className="panel-note">The middle of what it sees is used. Nothing leaves this page.</span>
      </div>
    </div>
  );
}
