// Search on pages that lie on a disk. A browser starts no worker for them; a frame that is not seen
// runs the same script and passes the same messages.
(function () {
  if (location.protocol !== "file:") return;
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "search";
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = (...names) => Promise.all(names.map((name) => load(inside, name)));
      load(inside, address).then(() => {
        this.inside = inside;
        for (const data of this.waiting) this.postMessage(data);
      });
    }
    postMessage(data) {
      if (!this.inside) return void this.waiting.push(data);
      this.inside.dispatchEvent(new MessageEvent("message", { data }));
    }
    terminate() {}
  };
  function load(inside, address) {
    return new Promise((done, failed) => {
      const script = inside.document.createElement("script");
      script.src = address;
      script.onload = done;
      script.onerror = failed;
      inside.document.head.append(script);
    });
  }
})();
