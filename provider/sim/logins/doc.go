// Package logins is a strict stand-in for two login servers: GitHub's, with the device flow and the exchange for a token of
// Copilot, and OpenAI's, with PKCE. It is for tests.
//
// A [Server] is an http.Handler that checks what the vendor checks. A test approves or declines a login as a person would
// do in a browser, and can end tokens before they expire. Codes and tokens are redeemed once. Issued lists all secrets, so
// that a test can search logs for them.
package logins
