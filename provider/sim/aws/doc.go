// Package aws is what the stand-ins of Amazon's hosts have in common: they check signatures (Signature Version 4) and write event streams.
//
// [Authenticate] computes each signature itself, from the documentation. It accepts every access key id, with the secret that
// [SecretOf] makes of it, so that a client needs no account and a server stores nothing. An id that begins with ASIA is temporary
// and needs the token of [TokenOf]; one that has EXPIRED in it is over.
//
// The package imports nothing of the project outside of the simulator.
package aws
