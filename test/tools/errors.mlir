// Every failure is one line that says what is wrong, never a traceback.
// RUN: not %pcg-opt %s --cannonicalise 2>&1 | FileCheck %s --check-prefix=FLAG
// RUN: not %pcg-opt %s --pass-pipeline=foo 2>&1 | FileCheck %s --check-prefix=PASS
// RUN: not %pcg-opt %s --pass-pipeline='cse{x=1}' 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not %pcg-opt %s --dist-strip=x=1 2>&1 | FileCheck %s --check-prefix=PYOPTION
// RUN: not %pcg-opt %s --pass-pipeline='cse,func.func(cse' 2>&1 | FileCheck %s --check-prefix=PAREN
// RUN: not %pcg-opt %s --pass-pipeline='func.func(dist-strip)' 2>&1 | FileCheck %s --check-prefix=NEST
// RUN: not %pcg-opt %s --mesh data 2>&1 | FileCheck %s --check-prefix=MESH
// RUN: not %pcg-opt %s --mesh data=2,data=2 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not %pcg-opt %s --mesh data=0 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not %pcg-opt %s --cse --memory-limit=lots 2>&1 | FileCheck %s --check-prefix=LIMIT
// RUN: not %pcg-opt %s --cse --memory-limit=1GiB 2>&1 | FileCheck %s --check-prefix=NOLIMIT
// RUN: not %pcg-opt %t.missing.mlir 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not %pcg-opt %s %s 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: not %pcg-opt %s -o %t.no/where 2>&1 | FileCheck %s --check-prefix=OUT
// RUN: not %pcg-opt %s --run-reproducer 2>&1 | FileCheck %s --check-prefix=REPRO

// FLAG: pcg-opt: error: unknown option or pass '--cannonicalise'; did you mean '--canonicalize'
// PASS: pcg-opt: error: unknown pass 'foo'
// OPTION: pcg-opt: error: 'cse{x=1}': {{.*}}no such option x
// PYOPTION: pcg-opt: error: pass 'dist-strip' has no option 'x' (options: none)
// PAREN: pcg-opt: error: unclosed '(' in pipeline 'cse,func.func(cse'
// NEST: pcg-opt: error: 'func.func(dist-strip)': Python passes run on builtin.module; move them out
// MESH: pcg-opt: error: --mesh: cannot read mesh axis 'data'; write name=size,name=size,...
// TWICE: pcg-opt: error: --mesh: mesh has two axes named 'data'
// ZERO: pcg-opt: error: --mesh: axis 'data' has size 0; sizes are at least 1
// LIMIT: pcg-opt: error: --memory-limit: 'lots' is not a number of bytes; write 16GiB, 512MB or 4096
// NOLIMIT: pcg-opt: error: --memory-limit: no pass of this pipeline has a memory limit
// MISSING: pcg-opt: error: {{.*}}missing.mlir: No such file or directory
// TWO: pcg-opt: error: one input at a time
// OUT: pcg-opt: error: {{.*}}where: No such file or directory
// REPRO: pcg-opt: error: the input is not a crash reproducer
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
