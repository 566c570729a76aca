// Package cohere is the stand-in of version 2 of Cohere's Chat API. It refuses what the API refuses, in the words of the vendor's list of
// errors and of exchanges that other clients recorded. Where neither has a refusal that the documentation demands, the words are its own.
//
// Inside the package, files depend in one direction: face, listing, answer, request, call, models, errors.
package cohere
