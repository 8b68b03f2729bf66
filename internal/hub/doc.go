// Package hub holds the words of the domain: the things a hub carries
// (Message, Ref, Offer), the parties it carries them between (Agent, Session,
// Sender, Platform), and the contracts its rooms keep (Receiver, Platform,
// Sessions, Presence, Record, Mail, SessionStore, Calls). It imports nothing but the
// standard library, and every other package may import it.
//
// A message from a phone travels
//
//	Platform → Receiver → gate → Record → route → Sessions
//
// and a message from an agent travels back
//
//	Session → relay.Send → Record → Platform, leaving a route behind
//
// No package on the left of an arrow is imported by one on its right.
package hub
