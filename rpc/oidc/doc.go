// Package oidc admits the bearers of JSON Web Tokens that an OpenID provider has signed.
//
// [Tokens] is an [auth.Admitter]. It verifies the signature with the provider's keys, which it fetches when the first token comes, and again
// when a token names a key that is not known, and every 15 minutes.
//
// A token is admitted only if all of these hold:
//
//   - it is a signed JWT; opaque access tokens are none, and nobody here could check them;
//   - its alg is asymmetric and on the list; none and HMAC never are;
//   - one of the issuer's keys has signed it, its iss is the issuer, and its aud has the audience;
//   - it has an exp that is not over, and no nbf or iat in the future. Clocks may differ by a minute;
//   - it names a user, the tenant if the config names a claim for that, and a right.
//
// [Tokens] also signs people in on the page, as an [auth.SignInProvider]: the authorization code flow with PKCE, which ends with such a token.
//
// Guarantees:
//
//   - A grant ends when its token has expired, within a second, by the wall clock.
//   - Tokens that are refused make at most one request to the issuer every few seconds.
//   - No part of a token is logged, or returned to a client.
//
// Inside the package, files depend in one direction: signout, code, tokens, claims and keys, config.
package oidc
