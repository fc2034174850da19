// RUN: %pcg-opt %s --pcg-apply-substitutions=rule=split-contraction | FileCheck %s --check-prefix=SPLIT-CONTRACTION
// RUN: %pcg-opt %s --pcg-apply-substitutions=rule=split-contraction-right | FileCheck %s --check-prefix=SPLIT-CONTRACTION-RIGHT
// RUN: %pcg-opt %s --pcg-apply-substitutions=rule=split-rows | FileCheck %s --check-prefix=SPLIT-ROWS
// RUN: %pcg-opt %s --pcg-apply-substitutions=rule=split-columns | FileCheck %s --check-prefix=SPLIT-COLUMNS
// RUN: %pcg-opt %s --pcg-apply-substitutions=rule=rows-of-product | FileCheck %s --check-prefix=ROWS-OF-PRODUCT
// RUN: %pcg-opt %s --pcg-apply-substitutions=rule=columns-of-product | FileCheck %s --check-prefix=COLUMNS-OF-PRODUCT
// RUN: %pcg-opt %s --pcg-apply-substitutions=rule=one-contraction | FileCheck %s --check-prefix=ONE-CONTRACTION
// RUN: %pcg-opt %s --pcg-apply-substitutions=rule=one-product-of-rows | FileCheck %s --check-prefix=ONE-PRODUCT-OF-ROWS
// RUN: %pcg-opt %s --pcg-apply-substitutions=rule=one-product-of-columns | FileCheck %s --check-prefix=ONE-PRODUCT-OF-COLUMNS
// RUN: %pcg-opt %s --pcg-apply-substitutions=rule=concat-of-blocks | FileCheck %s --check-prefix=CONCAT-OF-BLOCKS
// RUN: %pcg-opt %s --pcg-apply-substitutions=rule=slice-of-blocks | FileCheck %s --check-prefix=SLICE-OF-BLOCKS
// RUN: %pcg-opt %s --pcg-apply-substitutions=rule=sum-of-left | FileCheck %s --check-prefix=SUM-OF-LEFT
// RUN: %pcg-opt %s --pcg-apply-substitutions=rule=sum-of-right | FileCheck %s --check-prefix=SUM-OF-RIGHT
// RUN: %pcg-opt %s --pcg-apply-substitutions=rule=product-from-right | FileCheck %s --check-prefix=PRODUCT-FROM-RIGHT
// RUN: %pcg-opt %s --pcg-apply-substitutions=rule=product-from-left | FileCheck %s --check-prefix=PRODUCT-FROM-LEFT
// RUN: %pcg-opt %s --pcg-apply-substitutions=rule=add-to-table | FileCheck %s --check-prefix=ADD-TO-TABLE
// RUN: %pcg-opt %s --pcg-apply-substitutions=rule=subtract-from-table | FileCheck %s --check-prefix=SUBTRACT-FROM-TABLE
// RUN: %pcg-opt %s --pcg-apply-substitutions=rule=scaled-rows | FileCheck %s --check-prefix=SCALED-ROWS
// RUN: %pcg-opt %s --pcg-apply-substitutions=rule=negated-rows | FileCheck %s --check-prefix=NEGATED-ROWS
// RUN: not %pcg-opt %s --pcg-apply-substitutions=rule=none -o /dev/null 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not %pcg-opt %s --pcg-apply-substitutions -o /dev/null 2>&1 | FileCheck %s --check-prefix=NAMELESS
// RUN: not %pcg-opt %s --pcg-apply-substitutions="rule=negated-rows at=9" -o /dev/null 2>&1 | FileCheck %s --check-prefix=BEYOND
// RUN: not %pcg-opt %s --pcg-apply-substitutions="rule=sum-of-left exact" -o /dev/null 2>&1 | FileCheck %s --check-prefix=EXACT
// RUN: %pcg-opt %s --pcg-apply-substitutions="rule=split-rows exact" | FileCheck %s --check-prefix=SPLIT-ROWS
// RUN: %pcg-opt %s --pcg-apply-substitutions="rule=one-contraction at=0" | FileCheck %s --check-prefix=FIRST
// RUN: %pcg-opt %s --pcg-apply-substitutions=rule=sum-of-left --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// UNKNOWN: error: pcg-apply-substitutions: rule 'none' is not known; allowed: split-contraction, split-contraction-right,
// NAMELESS: error: pcg-apply-substitutions: rule '' is not known
// BEYOND: error: pcg-apply-substitutions: rule 'negated-rows' matches 1 times; at=9; allowed: less than that
// EXACT: error: pcg-apply-substitutions: rule 'sum-of-left' changes rounding, which 'exact' does not allow
// REMARK: remark: pcg-apply-substitutions: sum-of-left: {{.*}}; proved from TASO 15

// Only the first match, in program order.
// FIRST-LABEL: func.func @one_contraction(
// FIRST: stablehlo.concatenate
// FIRST-LABEL: func.func @sum_of_left(
// FIRST-NOT: stablehlo.concatenate
// FIRST: stablehlo.add
// FIRST: return

// SPLIT-CONTRACTION-LABEL: func.func @split_contraction(
// SPLIT-CONTRACTION: %[[V0:.*]] = stablehlo.slice %arg2 [0:2, 0:3]
// SPLIT-CONTRACTION-NEXT: %[[V1:.*]] = stablehlo.dot_general %arg0, %[[V0]]
// SPLIT-CONTRACTION-NEXT: %[[V2:.*]] = stablehlo.slice %arg2 [2:5, 0:3]
// SPLIT-CONTRACTION-NEXT: %[[V3:.*]] = stablehlo.dot_general %arg1, %[[V2]]
// SPLIT-CONTRACTION-NEXT: %[[V4:.*]] = stablehlo.add %[[V1]], %[[V3]]
// SPLIT-CONTRACTION: return %[[V4]]
func.func @split_contraction(%x: tensor<4x2xf32>, %y: tensor<4x3xf32>, %w: tensor<5x3xf32>) -> tensor<4x3xf32> {
  %c = stablehlo.concatenate %x, %y, dim = 1 : (tensor<4x2xf32>, tensor<4x3xf32>) -> tensor<4x5xf32>
  %r = stablehlo.dot_general %c, %w, contracting_dims = [1] x [0] : (tensor<4x5xf32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// SPLIT-CONTRACTION-RIGHT-LABEL: func.func @split_contraction_right(
// SPLIT-CONTRACTION-RIGHT: %[[V0:.*]] = stablehlo.slice %arg0 [0:4, 0:2]
// SPLIT-CONTRACTION-RIGHT-NEXT: %[[V1:.*]] = stablehlo.dot_general %[[V0]], %arg1
// SPLIT-CONTRACTION-RIGHT-NEXT: %[[V2:.*]] = stablehlo.slice %arg0 [0:4, 2:5]
// SPLIT-CONTRACTION-RIGHT-NEXT: %[[V3:.*]] = stablehlo.dot_general %[[V2]], %arg2
// SPLIT-CONTRACTION-RIGHT-NEXT: %[[V4:.*]] = stablehlo.add %[[V1]], %[[V3]]
// SPLIT-CONTRACTION-RIGHT: return %[[V4]]
func.func @split_contraction_right(%x: tensor<4x5xf32>, %w: tensor<2x3xf32>, %v: tensor<3x3xf32>) -> tensor<4x3xf32> {
  %c = stablehlo.concatenate %w, %v, dim = 0 : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<5x3xf32>
  %r = stablehlo.dot_general %x, %c, contracting_dims = [1] x [0] : (tensor<4x5xf32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// SPLIT-ROWS-LABEL: func.func @split_rows(
// SPLIT-ROWS: %[[V0:.*]] = stablehlo.dot_general %arg0, %arg2
// SPLIT-ROWS-NEXT: %[[V1:.*]] = stablehlo.dot_general %arg1, %arg2
// SPLIT-ROWS-NEXT: %[[V2:.*]] = stablehlo.concatenate %[[V0]], %[[V1]], dim = 0
// SPLIT-ROWS: return %[[V2]]
func.func @split_rows(%x: tensor<4x2xf32>, %y: tensor<3x2xf32>, %w: tensor<2x3xf32>) -> tensor<7x3xf32> {
  %c = stablehlo.concatenate %x, %y, dim = 0 : (tensor<4x2xf32>, tensor<3x2xf32>) -> tensor<7x2xf32>
  %r = stablehlo.dot_general %c, %w, contracting_dims = [1] x [0] : (tensor<7x2xf32>, tensor<2x3xf32>) -> tensor<7x3xf32>
  return %r : tensor<7x3xf32>
}

// SPLIT-COLUMNS-LABEL: func.func @split_columns(
// SPLIT-COLUMNS: %[[V0:.*]] = stablehlo.dot_general %arg0, %arg1
// SPLIT-COLUMNS-NEXT: %[[V1:.*]] = stablehlo.dot_general %arg0, %arg2
// SPLIT-COLUMNS-NEXT: %[[V2:.*]] = stablehlo.concatenate %[[V0]], %[[V1]], dim = 1
// SPLIT-COLUMNS: return %[[V2]]
func.func @split_columns(%x: tensor<4x2xf32>, %w: tensor<2x3xf32>, %v: tensor<2x1xf32>) -> tensor<4x4xf32> {
  %c = stablehlo.concatenate %w, %v, dim = 1 : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %r = stablehlo.dot_general %x, %c, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// ROWS-OF-PRODUCT-LABEL: func.func @rows_of_product(
// ROWS-OF-PRODUCT: %[[V0:.*]] = stablehlo.slice %arg0 [1:3, 0:2]
// ROWS-OF-PRODUCT-NEXT: %[[V1:.*]] = stablehlo.dot_general %[[V0]], %arg1
// ROWS-OF-PRODUCT: return %[[V1]]
func.func @rows_of_product(%x: tensor<4x2xf32>, %w: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  %r = stablehlo.slice %p [1:3, 0:3] : (tensor<4x3xf32>) -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// COLUMNS-OF-PRODUCT-LABEL: func.func @columns_of_product(
// COLUMNS-OF-PRODUCT: %[[V0:.*]] = stablehlo.slice %arg1 [0:2, 1:3]
// COLUMNS-OF-PRODUCT-NEXT: %[[V1:.*]] = stablehlo.dot_general %arg0, %[[V0]]
// COLUMNS-OF-PRODUCT: return %[[V1]]
func.func @columns_of_product(%x: tensor<4x2xf32>, %w: tensor<2x3xf32>) -> tensor<4x2xf32> {
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  %r = stablehlo.slice %p [0:4, 1:3] : (tensor<4x3xf32>) -> tensor<4x2xf32>
  return %r : tensor<4x2xf32>
}

// ONE-CONTRACTION-LABEL: func.func @one_contraction(
// ONE-CONTRACTION: %[[V0:.*]] = stablehlo.concatenate %arg0, %arg2, dim = 1
// ONE-CONTRACTION-NEXT: %[[V1:.*]] = stablehlo.concatenate %arg1, %arg3, dim = 0
// ONE-CONTRACTION-NEXT: %[[V2:.*]] = stablehlo.dot_general %[[V0]], %[[V1]]
// ONE-CONTRACTION: return %[[V2]]
func.func @one_contraction(%x: tensor<4x2xf32>, %w: tensor<2x3xf32>, %y: tensor<4x5xf32>, %v: tensor<5x3xf32>) -> tensor<4x3xf32> {
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  %q = stablehlo.dot_general %y, %v, contracting_dims = [1] x [0] : (tensor<4x5xf32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  %r = stablehlo.add %p, %q : tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// ONE-PRODUCT-OF-ROWS-LABEL: func.func @one_product_of_rows(
// ONE-PRODUCT-OF-ROWS: %[[V0:.*]] = stablehlo.concatenate %arg0, %arg1, dim = 0
// ONE-PRODUCT-OF-ROWS-NEXT: %[[V1:.*]] = stablehlo.dot_general %[[V0]], %arg2
// ONE-PRODUCT-OF-ROWS: return %[[V1]]
func.func @one_product_of_rows(%x: tensor<4x2xf32>, %y: tensor<3x2xf32>, %w: tensor<2x3xf32>) -> tensor<7x3xf32> {
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  %q = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0] : (tensor<3x2xf32>, tensor<2x3xf32>) -> tensor<3x3xf32>
  %r = stablehlo.concatenate %p, %q, dim = 0 : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<7x3xf32>
  return %r : tensor<7x3xf32>
}

// ONE-PRODUCT-OF-COLUMNS-LABEL: func.func @one_product_of_columns(
// ONE-PRODUCT-OF-COLUMNS: %[[V0:.*]] = stablehlo.concatenate %arg1, %arg2, dim = 1
// ONE-PRODUCT-OF-COLUMNS-NEXT: %[[V1:.*]] = stablehlo.dot_general %arg0, %[[V0]]
// ONE-PRODUCT-OF-COLUMNS: return %[[V1]]
func.func @one_product_of_columns(%x: tensor<4x2xf32>, %w: tensor<2x3xf32>, %v: tensor<2x1xf32>) -> tensor<4x4xf32> {
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  %q = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x1xf32>) -> tensor<4x1xf32>
  %r = stablehlo.concatenate %p, %q, dim = 1 : (tensor<4x3xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// CONCAT-OF-BLOCKS-LABEL: func.func @concat_of_blocks(
// CONCAT-OF-BLOCKS: %[[V0:.*]] = stablehlo.reshape %arg0 : (tensor<4x2xf32>) -> tensor<4x1x2xf32>
// CONCAT-OF-BLOCKS-NEXT: %[[V1:.*]] = stablehlo.reshape %arg1 : (tensor<4x2xf32>) -> tensor<4x1x2xf32>
// CONCAT-OF-BLOCKS-NEXT: %[[V2:.*]] = stablehlo.reshape %arg2 : (tensor<4x2xf32>) -> tensor<4x1x2xf32>
// CONCAT-OF-BLOCKS-NEXT: %[[V3:.*]] = stablehlo.concatenate %[[V0]], %[[V1]], %[[V2]], dim = 1
// CONCAT-OF-BLOCKS-NEXT: %[[V4:.*]] = stablehlo.reshape %[[V3]] : (tensor<4x3x2xf32>) -> tensor<4x6xf32>
// CONCAT-OF-BLOCKS-NEXT: stablehlo.dot_general %[[V4]], %arg3
func.func @concat_of_blocks(%x: tensor<4x2xf32>, %y: tensor<4x2xf32>, %z: tensor<4x2xf32>, %w: tensor<6x3xf32>) -> tensor<4x3xf32> {
  %c = stablehlo.concatenate %x, %y, %z, dim = 1 : (tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x6xf32>
  %r = stablehlo.dot_general %c, %w, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x3xf32>) -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// Both blocks are parts of one reshape.
// SLICE-OF-BLOCKS-LABEL: func.func @slice_of_blocks(
// SLICE-OF-BLOCKS: %[[V0:.*]] = stablehlo.dot_general
// SLICE-OF-BLOCKS-NEXT: %[[V1:.*]] = stablehlo.reshape %[[V0]] : (tensor<4x6xf32>) -> tensor<4x3x2xf32>
// SLICE-OF-BLOCKS-NEXT: %[[V2:.*]] = stablehlo.slice %[[V1]] [0:4, 0:1, 0:2]
// SLICE-OF-BLOCKS-NEXT: %[[V3:.*]] = stablehlo.reshape %[[V2]] : (tensor<4x1x2xf32>) -> tensor<4x2xf32>
// SLICE-OF-BLOCKS-NEXT: %[[V4:.*]] = stablehlo.slice %[[V1]] [0:4, 2:3, 0:2]
// SLICE-OF-BLOCKS-NEXT: %[[V5:.*]] = stablehlo.reshape %[[V4]] : (tensor<4x1x2xf32>) -> tensor<4x2xf32>
// SLICE-OF-BLOCKS-NEXT: return %[[V3]], %[[V5]]
func.func @slice_of_blocks(%x: tensor<4x2xf32>, %w: tensor<2x6xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>) {
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
  %a = stablehlo.slice %p [0:4, 0:2] : (tensor<4x6xf32>) -> tensor<4x2xf32>
  %b = stablehlo.slice %p [0:4, 4:6] : (tensor<4x6xf32>) -> tensor<4x2xf32>
  return %a, %b : tensor<4x2xf32>, tensor<4x2xf32>
}

// SUM-OF-LEFT-LABEL: func.func @sum_of_left(
// SUM-OF-LEFT: %[[V0:.*]] = stablehlo.add %arg0, %arg2
// SUM-OF-LEFT-NEXT: %[[V1:.*]] = stablehlo.dot_general %[[V0]], %arg1
// SUM-OF-LEFT: return %[[V1]]
func.func @sum_of_left(%x: tensor<4x2xf32>, %w: tensor<2x3xf32>, %y: tensor<4x2xf32>) -> tensor<4x3xf32> {
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  %q = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  %r = stablehlo.add %p, %q : tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// SUM-OF-RIGHT-LABEL: func.func @sum_of_right(
// SUM-OF-RIGHT: %[[V0:.*]] = stablehlo.add %arg1, %arg2
// SUM-OF-RIGHT-NEXT: %[[V1:.*]] = stablehlo.dot_general %arg0, %[[V0]]
// SUM-OF-RIGHT: return %[[V1]]
func.func @sum_of_right(%x: tensor<4x2xf32>, %w: tensor<2x3xf32>, %v: tensor<2x3xf32>) -> tensor<4x3xf32> {
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  %q = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  %r = stablehlo.add %p, %q : tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// PRODUCT-FROM-RIGHT-LABEL: func.func @product_from_right(
// PRODUCT-FROM-RIGHT: %[[V0:.*]] = stablehlo.dot_general %arg1, %arg2
// PRODUCT-FROM-RIGHT-NEXT: %[[V1:.*]] = stablehlo.dot_general %arg0, %[[V0]]
// PRODUCT-FROM-RIGHT: return %[[V1]]
func.func @product_from_right(%x: tensor<4x2xf32>, %y: tensor<2x3xf32>, %z: tensor<3x5xf32>) -> tensor<4x5xf32> {
  %p = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  %r = stablehlo.dot_general %p, %z, contracting_dims = [1] x [0] : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
  return %r : tensor<4x5xf32>
}

// PRODUCT-FROM-LEFT-LABEL: func.func @product_from_left(
// PRODUCT-FROM-LEFT: %[[V0:.*]] = stablehlo.dot_general %arg0, %arg1
// PRODUCT-FROM-LEFT-NEXT: %[[V1:.*]] = stablehlo.dot_general %[[V0]], %arg2
// PRODUCT-FROM-LEFT: return %[[V1]]
func.func @product_from_left(%x: tensor<4x2xf32>, %y: tensor<2x3xf32>, %z: tensor<3x5xf32>) -> tensor<4x5xf32> {
  %p = stablehlo.dot_general %y, %z, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  %r = stablehlo.dot_general %x, %p, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x5xf32>) -> tensor<4x5xf32>
  return %r : tensor<4x5xf32>
}

// ADD-TO-TABLE-LABEL: func.func @add_to_table(
// ADD-TO-TABLE: %[[V0:.*]] = "stablehlo.scatter"(%arg0, %arg1, %arg2)
// ADD-TO-TABLE: return %[[V0]]
func.func @add_to_table(%t: tensor<50x3xf32>, %i: tensor<4x1xi32>, %g: tensor<4x3xf32>) -> tensor<50x3xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<50x3xf32>
  %s = "stablehlo.scatter"(%zero, %i, %g) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %p : tensor<f32>
  }) : (tensor<50x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<50x3xf32>
  %r = stablehlo.add %t, %s : tensor<50x3xf32>
  return %r : tensor<50x3xf32>
}

// SUBTRACT-FROM-TABLE-LABEL: func.func @subtract_from_table(
// SUBTRACT-FROM-TABLE: %[[V0:.*]] = stablehlo.negate %arg2
// SUBTRACT-FROM-TABLE-NEXT: %[[V1:.*]] = "stablehlo.scatter"(%arg0, %arg1, %[[V0]])
// SUBTRACT-FROM-TABLE: return %[[V1]]
func.func @subtract_from_table(%t: tensor<50x3xf32>, %i: tensor<4x1xi32>, %g: tensor<4x3xf32>) -> tensor<50x3xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<50x3xf32>
  %s = "stablehlo.scatter"(%zero, %i, %g) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %p : tensor<f32>
  }) : (tensor<50x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<50x3xf32>
  %r = stablehlo.subtract %t, %s : tensor<50x3xf32>
  return %r : tensor<50x3xf32>
}

// SCALED-ROWS-LABEL: func.func @scaled_rows(
// SCALED-ROWS: %[[V0:.*]] = stablehlo.constant dense<0.000000e+00>
// SCALED-ROWS: %[[V1:.*]] = stablehlo.broadcast_in_dim %arg2, dims = []
// SCALED-ROWS: %[[V2:.*]] = stablehlo.multiply %arg1, %[[V1]]
// SCALED-ROWS: %[[V3:.*]] = "stablehlo.scatter"(%[[V0]], %arg0, %[[V2]])
// SCALED-ROWS: return %[[V3]]
func.func @scaled_rows(%i: tensor<4x1xi32>, %g: tensor<4x3xf32>, %c: tensor<f32>) -> tensor<50x3xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<50x3xf32>
  %s = "stablehlo.scatter"(%zero, %i, %g) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %p : tensor<f32>
  }) : (tensor<50x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<50x3xf32>
  %k = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<50x3xf32>
  %r = stablehlo.multiply %s, %k : tensor<50x3xf32>
  return %r : tensor<50x3xf32>
}

// NEGATED-ROWS-LABEL: func.func @negated_rows(
// NEGATED-ROWS: %[[V0:.*]] = stablehlo.constant dense<0.000000e+00>
// NEGATED-ROWS-NEXT: %[[V1:.*]] = stablehlo.negate %arg1
// NEGATED-ROWS-NEXT: %[[V2:.*]] = "stablehlo.scatter"(%[[V0]], %arg0, %[[V1]])
// NEGATED-ROWS: return %[[V2]]
func.func @negated_rows(%i: tensor<4x1xi32>, %g: tensor<4x3xf32>) -> tensor<50x3xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<50x3xf32>
  %s = "stablehlo.scatter"(%zero, %i, %g) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %p : tensor<f32>
  }) : (tensor<50x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<50x3xf32>
  %r = stablehlo.negate %s : tensor<50x3xf32>
  return %r : tensor<50x3xf32>
}
