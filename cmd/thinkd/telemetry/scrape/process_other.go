//go:build !linux

package scrape

func process() []value { return nil }
