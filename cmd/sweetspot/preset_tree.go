package main

// presetCmd keeps presets that were run: each is a run of the store.
type presetCmd struct {
	List   presetListCmd   `cmd:"" help:"List runs: what is running, else the newest."`
	Get    presetGetCmd    `cmd:"" help:"Show a run's final figures."`
	Rename presetRenameCmd `cmd:"" help:"Give a run a name, which then means it."`
	Delete presetDeleteCmd `cmd:"" help:"Delete runs with all their results."`
	Import presetImportCmd `cmd:"" help:"Bring results of other tools, and older forms, into the store."`
}

// Help is the commands' manual.
func (presetCmd) Help() string {
	return `A preset that was run is kept with its run, in the store. A run's id never changes. Its name is the preset's; of several runs with a name, the name
means the one that got it last: the newest, unless an older one was given it with "preset rename".`
}
