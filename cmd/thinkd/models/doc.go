// Package models prints answers of models/list for people: a table of the models, and what a refresh of the vendors' lists has changed.
//
// Inside the package, files use nothing of each other.
package models
