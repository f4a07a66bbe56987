// Sliders over the corrections of the first story and of the last, and over the times of motions.
// The page says the same without them.
'use strict';

// A slider with a Play button: calls show(k) for k = 0 … count - 1 and prints what it returns.
function scrub(name, count, seconds, show) {
  const box = document.querySelector('.scrub[data-for="' + name + '"]');
  const slider = box.querySelector('input'), button = box.querySelector('button');
  const output = box.querySelector('output');
  let start = null;
  slider.max = count - 1;
  slider.value = count - 1;
  const draw = () => { output.textContent = show(Number(slider.value)); };
  const stop = () => { start = null; button.textContent = 'Play'; };
  const frame = (now) => {
    if (start === null) return;
    const share = Math.min(1, (now - start) / (1000 * seconds));
    slider.value = Math.round(share * (count - 1));
    draw();
    if (share < 1) requestAnimationFrame(frame); else stop();
  };
  button.addEventListener('click', () => {
    if (start !== null) return stop();
    start = performance.now();
    button.textContent = 'Stop';
    requestAnimationFrame(frame);
  });
  slider.addEventListener('input', () => { stop(); draw(); });
  box.hidden = false;
  draw();
}

// The corrections of a story, whose notes are in one of its figures.
function corrections(name, figure) {
  const section = document.getElementById(name);
  const frames = [...section.querySelectorAll('[data-frame]')];
  const notes = [...document.querySelectorAll('#' + figure + ' [data-note]')]
    .sort((a, b) => a.dataset.frame - b.dataset.frame);
  scrub(name, notes.length, 5, (k) => {
    for (const f of frames) {
      f.classList.toggle('now', Number(f.dataset.frame) === k);
      f.classList.toggle('later', Number(f.dataset.frame) > k);
    }
    return notes[k].dataset.note;
  });
}

function orbit() {
  const box = document.querySelector('.scrub[data-for="orbit"]');
  const seconds = Number(box.dataset.seconds);
  const runs = [...document.querySelectorAll('#trust-orbit [data-orbit]')].map((path) => ({
    path: path,
    head: document.querySelector('#trust-orbit [data-head="' + path.dataset.orbit + '"]'),
    points: path.getAttribute('d').slice(1).split('L'),
  }));
  const count = runs[0].points.length, apart = runs[0].path.dataset.apart.split(' ');
  scrub('orbit', count, 20, (k) => {
    for (const run of runs) {
      const [x, y] = run.points[k].split(' ');
      run.path.setAttribute('d', 'M' + run.points.slice(0, k + 1).join('L'));
      run.head.setAttribute('cx', x);
      run.head.setAttribute('cy', y);
    }
    return 'After ' + (seconds * k / (count - 1)).toFixed(1) + ' s they are ' + apart[k] + ' apart';
  });
}

// Beads that go along their tracks, one point for each step of time.
function race() {
  const step = Number(document.querySelector('.scrub[data-for="race"]').dataset.step);
  const beads = [...document.querySelectorAll('#slide-race [data-race]')].map((path) => ({
    head: document.querySelector('#slide-race [data-head="' + path.dataset.race + '"]'),
    points: path.getAttribute('d').slice(1).split('L'),
  }));
  const count = Math.max(...beads.map((bead) => bead.points.length));
  scrub('race', count, 4, (k) => {
    for (const bead of beads) {
      const [x, y] = bead.points[Math.min(k, bead.points.length - 1)].split(' ');
      bead.head.setAttribute('cx', x);
      bead.head.setAttribute('cy', y);
    }
    return 'After ' + (step * k).toFixed(2) + ' s';
  });
}

corrections('aim', 'aim-side');
orbit();
corrections('slide', 'slide-bending');
race();
