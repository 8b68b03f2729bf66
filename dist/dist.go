// Package dist has what runs the hub on a machine: units, images, packages. Of
// these files aldis setup writes one itself, which is built in.
//
// Its one rule: what is built in is the file that packages install too.
package dist

import _ "embed"

// UserUnit is the unit by which the systemd of a user runs the hub.
//
//go:embed systemd/user/aldis.service
var UserUnit string
