// What a message and a byte cost: alpha, beta and gamma of Hockney (1994), and, apart from the latency, the
// overhead that keeps the thread busy for each message, o of LogGP (Alexandrov, Ionescu, Schauser and
// Scheiman, "LogGP: incorporating long messages into the LogP model", 1995). With thousands of peers it is
// not the same: latencies pass side by side, overheads one after the other.
//
// A member has one thread that sends, receives, copies and adds; a host has one network adapter, which its
// members share. Links within a host are memory: the thread copies, and moves two bytes for each, one read
// and one written. Between hosts the adapter does (RDMA). Adding reads all operands and writes the sum.
#pragma once

namespace muster {

struct CostParameters {
  // Fitted on one machine of two cores, over shared memory; see docs/measurements/scaling.md.
  double latency_within_s = 0;            ///< alpha of a hop within a host; the overhead covers it
  double overhead_s = 2.3e-6;             ///< o: of the thread, for each message sent, and for each received
  double memory_s_per_byte = 1.0 / 15e9;  ///< beta within a host, and gamma: each byte read or written
  // Of the network: not measured; see docs/measurements/scaling.md for where they are from.
  double latency_between_s = 3e-6;       ///< alpha of a hop between hosts
  double wire_s_per_byte = 8.0 / 100e9;  ///< beta between hosts, each direction: 100 Gbit/s
  double chunk_bytes = 512 * 1024;       ///< largest message
};

}  // namespace muster
