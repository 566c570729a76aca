// Package vendors has the configured providers: which wire API each one speaks, at which address, and with which key.
//
// Everything in this package is safe for concurrent use once it is made.
//
// Inside the package, files depend in one direction: api, address, config, catalog.
package vendors
