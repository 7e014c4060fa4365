import { planRegions } from '/work/main/runtime/plan/regions.ts';
import { regionFaults } from '/work/main/runtime/plan/region-faults.ts';
let seed=1; const rnd=(n:number)=>{seed=(seed*1103515245+12345)&0x7fffffff;return seed%n};
let worst=1, sum=0,n=0;
for(let k=0;k<300;k++){
  const regs:any[]=[{id:'arena',kind:'arena',bytes:0}]; const vals:any[]=[];
  const T=20;
  for(let r=0;r<rnd(5);r++){const b=1+rnd(4000); regs.push({id:r,kind:'donated',bytes:b}); const d=1+rnd(10); vals.push({bytes:b,born:0,dies:d,fixed:{region:r,offset:0}}); if(rnd(2)) vals.push({bytes:b,born:Math.min(T-1,d+rnd(5)),dies:T,fixed:{region:r,offset:0}});}
  for(let i=0;i<3+rnd(30);i++){const a=rnd(T-1); vals.push({bytes:rnd(3000),born:a,dies:a+1+rnd(T-a-1)})}
  const p=planRegions(vals,regs,k%2?{}:{deadline:{now:()=>performance.now(),until:performance.now()+20}}); const f=regionFaults(vals,regs,p,256); if(f.length) {console.log(JSON.stringify(f[0]),JSON.stringify(vals)); break}
  if(p.arenaBytes<p.lowerBoundBytes) console.log('below bound!',k);
  const q=p.lowerBoundBytes?p.arenaBytes/p.lowerBoundBytes:1; worst=Math.max(worst,q); sum+=q;n++;
}
console.log(worst,sum/n);
