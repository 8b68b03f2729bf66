package test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// A wire is one connection to the hub that is kept for one request after
// another, and costs so little that a load is the hub's, not its maker's. It is
// made anew after it has broken.
type wire struct {
	hub  *hub
	conn net.Conn // nil: there is none
	in   *bufio.Reader
	out  []byte
}

// do makes a request with the shared token. A body is JSON.
func (w *wire) do(method, path, body string) (status int, answer []byte, err error) {
	if err = w.send(method, path, body); err == nil {
		status, answer, err = w.receive()
	}
	if err != nil {
		w.close()
	}
	return status, answer, err
}

// notify posts a message, and returns the id of one that was accepted.
func (w *wire) notify(target, content string) (id string, err error) {
	status, answer, err := w.do(http.MethodPost, "/notify?label=load", fmt.Sprintf(`{"content":%q,"target":%q}`, content, target))
	if err != nil {
		return "", err
	}
	if status != http.StatusAccepted {
		return "", fmt.Errorf("answered %d %s", status, answer)
	}
	var taken struct{ ID string }
	return taken.ID, json.Unmarshal(answer, &taken)
}

func (w *wire) send(method, path, body string) error {
	if w.conn == nil {
		conn, err := net.Dial("tcp", strings.TrimPrefix(w.hub.url, "http://"))
		if err != nil {
			return err
		}
		w.conn, w.in = conn, bufio.NewReader(conn)
	}
	w.out = fmt.Appendf(w.out[:0], "%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		method, path, token, len(body), body)
	_, err := w.conn.Write(w.out)
	return err
}

// receive reads an answer whose length is told.
func (w *wire) receive() (status int, body []byte, err error) {
	line, err := w.in.ReadString('\n')
	if err != nil {
		return 0, nil, err
	}
	if _, err := fmt.Sscanf(line, "HTTP/1.1 %d", &status); err != nil {
		return 0, nil, fmt.Errorf("%q: %w", line, err)
	}
	length := 0
	for line != "\r\n" {
		if line, err = w.in.ReadString('\n'); err != nil {
			return 0, nil, err
		}
		if n, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			if length, err = strconv.Atoi(strings.TrimSpace(n)); err != nil {
				return 0, nil, err
			}
		}
	}
	body = make([]byte, length)
	_, err = io.ReadFull(w.in, body)
	return status, body, err
}

func (w *wire) close() {
	if w.conn != nil {
		_ = w.conn.Close()
		w.conn = nil
	}
}
