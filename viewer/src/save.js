// Pictures and films of the scene, as files.

function hand_over(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

export const save_picture = (canvas, name) =>
  new Promise((done) =>
    canvas.toBlob((blob) => {
      hand_over(blob, `${name}.png`);
      done(blob.size);
    }, "image/png"),
  );

// Plays the run from its beginning and films the canvas.
export function save_film(canvas, player, name, notice) {
  if (!canvas.captureStream || !globalThis.MediaRecorder) {
    notice("This browser cannot record films; pictures can be saved.");
    return Promise.resolve(0);
  }
  return new Promise((done) => {
    const recorder = new MediaRecorder(canvas.captureStream(30), {
      mimeType: "video/webm",
      videoBitsPerSecond: 6e6,
    });
    const pieces = [];
    recorder.ondataavailable = (event) => pieces.push(event.data);
    recorder.onstop = () => {
      const film = new Blob(pieces, { type: "video/webm" });
      hand_over(film, `${name}.webm`);
      notice("");
      done(film.size);
    };
    notice("Filming the run …");
    player.pause();
    player.seek(0);
    recorder.start();
    const told = player.on_state;
    player.on_state = (playing) => {
      told(playing);
      if (!playing) {
        player.on_state = told;
        setTimeout(() => recorder.stop(), 200);
      }
    };
    player.play();
  });
}
