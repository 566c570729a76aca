package registry

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider"
)

// Change is a fact of a model that differs between two catalogs.
type Change struct {
	Model string         `json:"model"` // provider/id
	Fact  string         `json:"fact"`  // "model" for a new model, otherwise a group of [provider.Facts]
	From  string         `json:"from,omitempty"`
	To    string         `json:"to,omitempty"`
	Was   *provider.Fact `json:"was,omitempty"` // the previous source; nil: none
	Is    *provider.Fact `json:"is,omitempty"`
}

// Changes returns the facts of the later catalog that differ from the earlier one, by provider and in catalog order. Models
// that are missing in the later one are not reported.
func Changes(before, after *Catalog) []Change {
	var list []Change
	for _, id := range after.Providers() {
		had := make(map[string]provider.Model)
		for _, m := range before.ModelsOf(id) {
			had[m.ID] = m
		}
		for _, m := range after.ModelsOf(id) {
			was, ok := had[m.ID]
			if !ok {
				list = append(list, Change{Model: m.Ref(), Fact: "model", To: levelText(m), Is: fact(m.Facts.Levels)})
				continue
			}
			list = append(list, changed(was, m)...)
		}
	}
	return list
}

func changed(was, is provider.Model) (list []Change) {
	from, to := factTexts(was), factTexts(is)
	var facts []*provider.Fact
	was.Facts.Each(func(_ string, f *provider.Fact) { facts = append(facts, f) })
	is.Facts.Each(func(name string, f *provider.Fact) {
		if from[name] != to[name] || name == "price" && !reflect.DeepEqual(was.Price, is.Price) {
			list = append(list, Change{is.Ref(), name, from[name], to[name], fact(*facts[0]), fact(*f)})
		}
		facts = facts[1:]
	})
	return list
}

func fact(f provider.Fact) *provider.Fact {
	if f.State == "" {
		return nil
	}
	return &f
}

// factTexts returns short texts of a row's facts, for people.
func factTexts(m provider.Model) map[string]string {
	text := map[string]string{
		"levels": levelText(m), "default": string(m.Thinking.Default), "limits": fmt.Sprintf("%d/%d", m.Window, m.MaxOutput),
		"price": "", "lifecycle": "", "input": strings.Join(slices.Sorted(slices.Values(m.Input)), " "), "media": mediaText(m.Media),
	}
	if m.Price != nil {
		text["price"] = fmt.Sprintf("%g/%g", m.Price.Input, m.Price.Output)
		if m.Price.CachedInput > 0 {
			text["price"] += fmt.Sprintf(" cached %g", m.Price.CachedInput)
		}
	}
	if l := m.Lifecycle; l != nil {
		text["lifecycle"] = strings.TrimSpace(string(l.State) + " " + l.Retires)
	}
	return text
}

func levelText(m provider.Model) string {
	if !m.Known {
		return ""
	}
	return string(m.Thinking.Control) + " " + words(m.Thinking.Levels)
}

// Refresh is the result of asking hosts for their lists.
type Refresh struct {
	Lists   []Refreshed
	Changes []Change
}

// Refreshed is the result of asking one host for its list of models.
type Refreshed struct {
	Provider string   `json:"provider"`
	Models   int      `json:"models"`            // that its list has
	AsOf     string   `json:"as_of,omitempty"`   // YYYY-MM-DD
	Error    string   `json:"error,omitempty"`   // why there is no list; the host's earlier list still applies
	Skipped  []string `json:"skipped,omitempty"` // why rows of the list were left out
}
