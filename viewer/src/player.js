// Time: which frame is shown, and how it goes on. Frames follow the clock of the run.

export class Player {
  constructor(times, on_frame, on_state) {
    this.times = times;
    this.on_frame = on_frame;
    this.on_state = on_state;
    this.frame = 0;
    this.speed = 1;
    this.playing = false;
  }

  seek(i) {
    const n = this.times.length;
    this.frame = Math.min(Math.max(Math.round(Number(i)) || 0, 0), n - 1);
    this.on_frame(this.frame);
    return this.frame;
  }

  play() {
    if (this.playing || this.times.length < 2) return;
    if (this.frame === this.times.length - 1) this.seek(0);
    this.playing = true;
    this.on_state(true);
    this.clock = this.times[this.frame];
    let before = performance.now();
    // With the screen's own rhythm; in a tab that is not seen, which has none, by a timer.
    const soon = () => {
      let done = false;
      const once = () => {
        if (!done) tick(performance.now());
        done = true;
      };
      requestAnimationFrame(once);
      setTimeout(once, 100);
    };
    const tick = (now) => {
      if (!this.playing) return;
      // A machine that was asleep goes on where it was.
      this.clock += Math.min(now - before, 250) * 1e-3 * this.speed;
      before = now;
      let i = this.frame;
      while (i < this.times.length - 1 && this.times[i + 1] <= this.clock) ++i;
      if (i !== this.frame) this.seek(i);
      if (i === this.times.length - 1) return this.pause();
      soon();
    };
    soon();
  }

  pause() {
    if (!this.playing) return;
    this.playing = false;
    this.on_state(false);
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }
}
