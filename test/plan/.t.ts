import { searchWithin } from '../../runtime/plan/search.ts';
import { layout } from '../../runtime/plan/layout.ts';
import { leastBytes } from '../../runtime/plan/bound.ts';
import { load } from './.x2.ts';
const b=load(process.argv[2]!); const L=layout(b); console.log(L.n,L.m,(L.members.length/L.m).toFixed(1),'deg',(L.meets.length/L.n).toFixed(0)); const lb=leastBytes(b);
const valley:any={ways:(w:number,l:number)=>w*1e15+l,level:(w:number,l:number)=>l*1e3+w,waysS:(w:number,l:number,s:number)=>w*1e15+s};
const base:any={area:(x:number,w:number)=>x*w,width:(x:number,w:number)=>w*w*Math.sqrt(x),bytes:(x:number,w:number)=>x*Math.sqrt(w),size:(x:number,w:number)=>x,w:(x:number,w:number)=>w*1e12+x};
for(const v in valley) for(const k in base){ const s=searchWithin(L,lb,{valley:valley[v],buffer:base[k]}); const t=cpu(); let o='unknown',n=0; while(o==='unknown'&&cpu()-t<1500){o=s.advance(200);n+=200} console.log(v,k,o,n,(cpu()-t).toFixed(0)+'ms'); }
function cpu(){const u=process.cpuUsage();return (u.user+u.system)/1000}
