// Unpacks the program and starts it. The page's policy knows the hashes of both; nothing is evaluated.
// Until the program has drawn, the page is transparent: what lies under it (an image, a table) shows.
const unpack = async (id) => {
  const packed = Uint8Array.from(atob(document.getElementById(id).textContent), (one) => one.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
};
(async () => {
  const program = document.createElement("script");
  const [source, data] = await Promise.all([
    unpack("program"),
    document.getElementById("packed") ? unpack("packed") : document.getElementById("data").textContent,
  ]);
  globalThis.jumperData = data;
  program.textContent = source;
  document.body.append(program);
})();
