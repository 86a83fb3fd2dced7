// Package measure is what a measurement is: the record of one request, the summary of one point, and the statistics between them.
//
// Everything here is a pure function of values: no clock is read, nothing is sent or stored. The row types ([RequestRow], [Point]) are the one
// layout of results: their tags name the columns of Parquet, JSON and CSV alike, and [Columns] reads them. What figures mean is laid down in
// docs/reference/measurement.md.
package measure
