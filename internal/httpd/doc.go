// Package httpd is the toolbox of the HTTP edges: handlers that return their
// error, what every request must pass before it reaches one, a rate limit, and
// a server that starts and stops in order.
//
// Its one rule: it knows HTTP and hub's kinds of error, and nothing of what the
// handlers are for. Its middleware keeps [http.ResponseController] working, so
// that a stream can flush, set its own deadlines or take over the connection.
package httpd
