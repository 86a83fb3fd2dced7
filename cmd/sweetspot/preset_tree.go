package main

// presetCmd keeps presets that were run: each is a run of the store.
type presetCmd struct {
	Import presetImportCmd `cmd:"" help:"Bring results of other tools, and older forms, into the store."`
}
