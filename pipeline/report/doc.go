// Package report writes runs as something to look at. [Write] makes one HTML page that needs nothing else: charts, verdicts, figures and
// specifications in one file, which a browser opens from disk and that asks no network for anything. [WriteNotebook] makes a Jupyter notebook.
//
// It measures, judges and computes nothing of its own but what a drawing needs: each figure is the one that the results document has, and each
// time of a request is one that its row has. Text of a run, such as a model's name, is only ever put on the page as text.
package report
