// Package converse is the stand-in of Amazon Bedrock's Converse API. It refuses what the API and its models refuse, in the words that users
// reported, checks signatures, and answers in frames with checksums.
//
// Inside the package, files depend in one direction: face, listing, answer, request, call, models, errors.
package converse
