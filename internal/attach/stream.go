package attach

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// An event is one server-sent event.
type event struct {
	id    uint64 // zero: it came without a number
	data  string
	retry time.Duration // zero: not said
}

var errEnded = errors.New("the hub ended the stream")

// readEvents takes events (WHATWG HTML, section 9.2) out of a stream until it
// ends or take fails, and returns why. What has not come whole does not count.
// A carriage return ends no line of its own: no hub writes one.
func readEvents(stream io.Reader, take func(event) error) error {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, lineBytes)
	var e event
	for lines.Scan() {
		if text := lines.Text(); text != "" {
			e.field(text)
			continue
		}
		if err := take(e); err != nil {
			return err
		}
		e = event{}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the stream: %w", err)
	}
	return errEnded
}

// field takes in one line. Comments and fields that nobody sends are ignored.
func (e *event) field(text string) {
	name, value, _ := strings.Cut(text, ":")
	value = strings.TrimPrefix(value, " ")
	switch name {
	case "id":
		e.id, _ = strconv.ParseUint(value, 10, 64) // not a number of the hub's: none
	case "data":
		if e.data != "" {
			e.data += "\n"
		}
		e.data += value
	case "retry":
		if ms, err := strconv.ParseUint(value, 10, 31); err == nil {
			e.retry = time.Duration(ms) * time.Millisecond
		}
	}
}

// A watched stream has to bring a byte in time, or dead, a timer, fires. It
// runs while somebody waits for the stream: not while the agent takes its time.
type watched struct {
	io.Reader
	dead *time.Timer
}

func (w watched) Read(b []byte) (int, error) {
	w.dead.Reset(silentFor)
	defer w.dead.Stop()
	return w.Reader.Read(b)
}
