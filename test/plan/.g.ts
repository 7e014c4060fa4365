import * as G from '../bench/plan-graphs.ts';
import { order } from '../../runtime/compile/schedule.ts';
import { peakOf } from '../../runtime/compile/order/judge.ts';
import { wire, peakAlong } from '../../runtime/compile/order/walk.ts';
import * as H from '../../runtime/compile/order/greedy.ts';
import { treeOrder } from '../../runtime/compile/order/tree.ts';
const list:[string,any][]=[['tf2',G.transformerStep(2,{tokens:256,width:256})],['tf12',G.transformerStep(12,{tokens:256,width:256})],['tf2w',G.transformerStep(2,{tokens:16,width:256})],['tf12w',G.transformerStep(12,{tokens:16,width:256})],
['wired60',G.wired(60,1)],['wired300',G.wired(300,2)],['wired2000',G.wired(2000,3)],['wired5000',G.wired(5000,4)],['wide3x3',G.wideBranches(3,3,1)],['wide5x4',G.wideBranches(4,5,2)],['wide6',G.wideBranches(6,4,3)],['skips',G.skips(20)]];
for(const [n,g] of list){ const t0=performance.now(); const w=wire(g); const t1=performance.now();
 const hs:any={}; for(const [k,f] of Object.entries({prog:H.programOrder,list:H.listOrder,dfs:H.sharedFirstOrder,post:H.postOrder,beam:(x:any)=>H.beamOrder(x,8),tree:treeOrder})){const t=performance.now(); const o=(f as any)(w); if(o) hs[k]=peakAlong(w,o)+'/'+(performance.now()-t).toFixed(0)+'ms'}
 const t=performance.now(); const s=order(g,{now:()=>performance.now(),until:t+5000});
 console.log(n,g.nodes.length,JSON.stringify(hs),'->',s.peakBytes,s.by,'lb',s.orderLowerBoundBytes,s.optimal,(performance.now()-t).toFixed(0)+'ms',peakOf(g,s.order)===s.peakBytes);
}
