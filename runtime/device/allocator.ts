/** placeholder written next */
export interface Allocation { readonly slab: number; readonly offset: number; readonly bytes: number }
export interface Allocator { readonly bytesInUse: number }
