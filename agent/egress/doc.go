// Package egress decides to which providers a session may send anything.
//
// The operator labels providers by where their data goes, for example "eu" or "company". A session has the labels that it may reach.
// [Check] compares the two. It is pure. Package agent calls it before every model call: of a turn, a summary, a side question or a
// fallback.
package egress
