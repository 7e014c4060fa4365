import * as G from '../bench/plan-graphs.ts';
import { order } from '../../runtime/compile/schedule.ts';
import { wire } from '../../runtime/compile/order/walk.ts';
import * as B from '../../runtime/compile/order/bound.ts';
for(const [n,g] of [['tf60w',G.transformerStep(60,{tokens:16,width:256})],['wired3000',G.wired(3000,5)],['wide6',G.wideBranches(6,4,3)],['skips',G.skips(20)],['tf12w',G.transformerStep(12,{tokens:16,width:256})]] as [string,any][]){
 const t=performance.now(); const w=wire(g); const t1=performance.now(); const a=B.ancestry(w); const t2=performance.now(); const l=B.leastPeak(w,a); const t3=performance.now(); const p=B.pieces(w,a).length; const t4=performance.now();
 const s=order(g,{now:()=>performance.now(),until:t4+50});
 console.log(n,g.nodes.length,'wire',(t1-t).toFixed(0),'anc',(t2-t1).toFixed(0),'least',(t3-t2).toFixed(0),'pieces',p,(t4-t3).toFixed(0),'order',(performance.now()-t4).toFixed(0),s.peakBytes,s.by,s.orderLowerBoundBytes);
}
