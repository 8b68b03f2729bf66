package browser

import (
	"testing"
)

// The bounds that the page keeps to: see most in app.js.
const (
	mostBubbles = 300
	mostEvents  = 100
)

// TestThePageStaysSmoothAndSmall says how long frames take at two hundred
// messages a minute, and that what is old leaves the page.
func TestThePageStaysSmoothAndSmall(t *testing.T) {
	p := startDemo(t).open(t)
	eval[any](p, postJS)
	frames := eval[frames](p, `(async () => {
		const taken = [];
		let last = performance.now(), watching = true;
		requestAnimationFrame(function frame(now) {
			taken.push(now - last);
			last = now;
			if (watching) requestAnimationFrame(frame);
		});
		for (let n = 1; n <= 20; n++) {
			const posted = post('operator', 'paced ' + n);
			await new Promise((done) => setTimeout(done, 60_000 / 200));
			await posted;
		}
		watching = false;
		taken.sort((a, b) => a - b);
		const at = (part) => taken[Math.min(taken.length - 1, Math.floor(taken.length * part))];
		return { count: taken.length, median: at(.5), p95: at(.95), worst: at(1) };
	})()`)
	t.Logf("at 200 messages a minute, each answered: %d frames, median %.1f ms, 95%% under %.1f ms, worst %.1f ms",
		frames.Count, frames.Median, frames.P95, frames.Worst)
	if frames.Count == 0 || frames.Median > 50 {
		t.Errorf("half the frames take %.1f ms or more: that is not smooth", frames.Median)
	}

	eval[any](p, `Promise.all(Array.from({ length: 330 }, (_, n) => post('stranger', 'flood ' + (n + 1))))`)
	eval[any](p, `Promise.all(Array.from({ length: 85 }, (_, n) => post('operator', 'more ' + (n + 1))))`)
	v := p.until("the last of the flood shows, and is received", func(v view) bool {
		return v.Stranger.count("flood 330") == 1 && v.Agents[crushSignal].count("more 85") == 1 && len(v.Agents[crushSignal].Received) == mostEvents
	})
	if n := len(v.Stranger); n != mostBubbles {
		t.Errorf("the stranger's phone has %d bubbles, want %d", n, mostBubbles)
	}
	if _, old := v.Agents[crushSignal].got("paced 1"); old {
		t.Error("crush-signal's card has kept what is old")
	}
}

// frames is how long the page took to draw, in milliseconds.
type frames struct {
	Count              int
	Median, P95, Worst float64
}

// postJS posts as the page does, faster than a person can type.
const postJS = `window.post = (chat, text) => fetch('/phone/messages', {
	method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ id: crypto.randomUUID(), chat, kind: 'text', text }),
}); 0`
