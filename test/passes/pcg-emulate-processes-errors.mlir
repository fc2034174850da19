// RUN: %pcg-opt %s --split-input-file --verify-diagnostics --pcg-emulate-processes

// Two that want to give to each other first: nothing is buffered.
module attributes {pcg.processes = [0, 1], pcg.signature = () -> ()} {
  module @process_0 {
    func.func @main() {
      %c = stablehlo.constant dense<0.0> : tensor<2xf32>
      // expected-error @+1 {{deadlock: process 0 waits to give message 0 to process 1; process 1 waits to give message 1 to process 0}}
      "dist.send"(%c) {peer = 1, tag = 0, start = array<i64: 0>, limit = array<i64: 2>} : (tensor<2xf32>) -> ()
      %0 = "dist.recv"() {peer = 1, tag = 1, start = array<i64: 0>, limit = array<i64: 2>} : () -> tensor<2xf32>
      return
    }
  }
  module @process_1 {
    func.func @main() {
      %c = stablehlo.constant dense<0.0> : tensor<2xf32>
      "dist.send"(%c) {peer = 0, tag = 1, start = array<i64: 0>, limit = array<i64: 2>} : (tensor<2xf32>) -> ()
      %0 = "dist.recv"() {peer = 0, tag = 0, start = array<i64: 0>, limit = array<i64: 2>} : () -> tensor<2xf32>
      return
    }
  }
}

// -----

// A message that is never sent.
module attributes {pcg.processes = [0, 1], pcg.signature = () -> ()} {
  module @process_0 {
    func.func @main() {
      return
    }
  }
  module @process_1 {
    func.func @main() {
      // expected-error @+1 {{deadlock: process 1 waits for message 3 from process 0}}
      %0 = "dist.recv"() {peer = 0, tag = 3, start = array<i64: 0>, limit = array<i64: 2>} : () -> tensor<2xf32>
      return
    }
  }
}

// -----

// Both know the message, but not which piece it is.
module attributes {pcg.processes = [0, 1], pcg.signature = () -> ()} {
  module @process_0 {
    func.func @main() {
      %c = stablehlo.constant dense<0.0> : tensor<2xf32>
      "dist.send"(%c) {peer = 1, tag = 0, start = array<i64: 0>, limit = array<i64: 2>} : (tensor<2xf32>) -> ()
      return
    }
  }
  module @process_1 {
    func.func @main() {
      // expected-error @+1 {{process 1 expects tensor<2xf32>, box [2] to [4], but is sent tensor<2xf32>, box [0] to [2]}}
      %0 = "dist.recv"() {peer = 0, tag = 0, start = array<i64: 2>, limit = array<i64: 4>} : () -> tensor<2xf32>
      return
    }
  }
}

// -----

// Nobody returns the second half.
// expected-error @+1 {{result 0: the processes return [(0, 2)] of dimension 0, of size 4}}
module attributes {pcg.processes = [0], pcg.signature = () -> tensor<4xf32>} {
  module @process_0 {
    func.func @main() -> (tensor<2xf32> {pcg.result = 0 : i64, pcg.start = array<i64: 0>, pcg.limit = array<i64: 2>}) {
      %c = stablehlo.constant dense<0.0> : tensor<2xf32>
      return %c : tensor<2xf32>
    }
  }
}

// -----

// expected-error @+1 {{the module has no pcg.processes; only what pcg-lower-processes made has processes}}
module {
  func.func @main() {
    return
  }
}
