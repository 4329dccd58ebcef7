// Brings the questions of plots' pages to the kernel and its answers back (frontend/src/finer.js,
// python/jumper/widget.py). One for each kernel: it has no view. The pages lie in the notebook's
// outputs, in sandboxes; by its channel, "KERNEL/PLOT", a page is known to be this kernel's.

const MOST_WAITING = 100;

function initialize({ model }) {
  const channel = model.get("channel");
  const waiting = new Map(); // from our number of a question to the page that asked, and its own
  let count = 0;

  const hear = ({ data, source }) => {
    if (!source || typeof data?.channel !== "string" || !data.channel.startsWith(`${channel}/`)) return;
    if (data.kind === "ready") {
      source.postMessage({ kind: "listening", channel: data.channel }, "*");
    } else if (data.kind === "finer") {
      const { begin_s, end_s } = data;
      count += 1;
      waiting.set(count, { source, id: data.id, channel: data.channel });
      if (waiting.size > MOST_WAITING) waiting.delete(waiting.keys().next().value);
      model.send({ kind: "finer", channel: data.channel, id: count, begin_s, end_s });
    }
  };
  const answer = ({ id, error }, buffers) => {
    const of = waiting.get(id);
    waiting.delete(id);
    if (!of) return;
    const packed = buffers?.length ? new Uint8Array(buffers[0].buffer, buffers[0].byteOffset, buffers[0].byteLength).slice().buffer : null;
    of.source.postMessage({ kind: "finer", channel: of.channel, id: of.id, error, packed }, "*");
  };

  window.addEventListener("message", hear);
  model.on("msg:custom", answer);
  for (const frame of document.querySelectorAll("iframe.jumper-page")) {
    frame.contentWindow?.postMessage({ kind: "hello", channel }, "*"); // it was there before us
  }
  return () => {
    window.removeEventListener("message", hear);
    model.off("msg:custom", answer);
  };
}

export default { initialize };
