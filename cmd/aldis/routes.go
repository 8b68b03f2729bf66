package main

import (
	"context"
	"crypto/rand"
	"math/big"
	"sync/atomic"

	"github.com/google/uuid"

	"aldis/internal/gate"
	"aldis/internal/hub"
	"aldis/internal/route"
	"aldis/internal/store"
)

// compactEvery is how many appends pass between looks at whether the routes
// file has grown too long.
const compactEvery = 1000

// A routeLog keeps the routes of a table in a file.
type routeLog struct {
	log     *store.RouteLog
	table   *route.Table
	appends atomic.Int64
}

func openRouteLog(path string, t *route.Table) (*routeLog, []route.Route, error) {
	log, records, err := store.OpenRoutes(path)
	if err != nil {
		return nil, nil, err
	}
	routes := make([]route.Route, len(records))
	for i, r := range records {
		routes[i] = route.Route(r)
	}
	return &routeLog{log: log, table: t}, routes, nil
}

// Append implements [relay.RouteLog].
func (l *routeLog) Append(ctx context.Context, rs ...route.Route) error {
	if err := l.log.Append(ctx, records(rs)...); err != nil {
		return err
	}
	if l.appends.Add(1)%compactEvery != 0 {
		return nil
	}
	return l.log.Compact(ctx, func() []store.RouteRecord { return records(l.table.All()) })
}

func records(rs []route.Route) []store.RouteRecord {
	out := make([]store.RouteRecord, len(rs))
	for i, r := range rs {
		out[i] = store.RouteRecord(r)
	}
	return out
}

func newID() hub.MessageID { return hub.MessageID(uuid.Must(uuid.NewV7()).String()) }

// newCode names a request for permission: five letters a–z without l, as
// agents do it.
func newCode() string { return randomLetters("abcdefghijkmnopqrstuvwxyz", 5) }

// newPairingCode is what a stranger is told.
func newPairingCode() string { return randomLetters(gate.CodeAlphabet, gate.CodeLetters) }

func randomLetters(alphabet string, n int) string {
	code := make([]byte, n)
	for i := range code {
		k, err := rand.Int(rand.Reader, big.NewInt(int64(len(alphabet))))
		if err != nil {
			panic(err) // crypto/rand does not fail
		}
		code[i] = alphabet[k.Int64()]
	}
	return string(code)
}
